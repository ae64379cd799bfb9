// Values of environment variables: numbers, sizes, switches, lists of interfaces, sets of cores.
#include "src/base/core_set.hpp"
#include "src/base/environment.hpp"
#include "tests/fuzz/target.hpp"
#include "transports/tcp/interfaces.hpp"

namespace hocket::fuzz {
namespace {

bool run_numbers(std::string_view input) {
  const environment::Variable variable{"HOCKET_TIMEOUT_MS", std::string(input)};
  const auto number = environment::to_integer(variable, -5, 1000);
  if (number) require(*number >= -5 && *number <= 1000);
  const auto bytes = environment::to_bytes(variable, 1, std::int64_t{1} << 40);
  if (bytes) require(*bytes >= 1 && *bytes <= std::int64_t{1} << 40);
  return number.ok() || bytes.ok() || environment::to_switch(variable).ok();
}

bool run_interfaces(std::string_view input) {
  const std::string_view names = input.substr(0, input.find('\n'));
  const std::string_view family = input.substr(std::min(input.size(), names.size() + 1));
  const auto choice = tcp::AddressChoice::parse(names, family);
  if (!choice) return false;
  const tcp::LocalAddress loopback{.interface = "lo", .ip = in6addr_loopback};
  const auto chosen_ones = choice->choose({loopback});
  if (chosen_ones) require(choice->allows_interface("lo") && choice->allows(loopback.ip));
  return true;
}

bool run_cores(std::string_view input) {
  const auto cores = CoreSet::parse(input);
  if (cores) require(CoreSet::parse(cores->text()) == cores);
  return cores.has_value();
}

bool run(std::string_view input) {
  switch (choose(input, 3)) {
    case 0: return run_numbers(input);
    case 1: return run_interfaces(input);
    default: return run_cores(input);
  }
}

std::vector<std::string> seeds() {
  return {chosen(0, "300"),      chosen(0, "512K"),           chosen(0, "on"),     chosen(1, "eth,ib0\nipv4"),
          chosen(1, "=lo\nany"), chosen(1, "^=docker0,lo\n"), chosen(2, "f00000f")};
}

}  // namespace

const Target environment_values{"environment_values", run, seeds};

}  // namespace hocket::fuzz
