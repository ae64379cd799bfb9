#include "src/base/host_identity.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "src/base/environment.hpp"
#include "src/base/file_contents.hpp"
#include "src/base/hash.hpp"
#include "src/base/random.hpp"
#include "src/base/words.hpp"

namespace hocket {
namespace {

constexpr std::size_t given_bytes_max = 256;

std::uint64_t number_of_namespace(const char* file) {
  struct stat found {};
  return ::stat(file, &found) == 0 ? found.st_ino : 0;
}

}  // namespace

std::string HostIdentity::own_boot() {
  const std::string boot = file_contents("/proc/sys/kernel/random/boot_id").value_or("");
  return std::string(Words(boot).word());
}

HostIdentity HostIdentity::own() {
  HostIdentity identity;
  if (const auto given = environment::find({"HOCKET_HOST_ID"})) identity.given = given->value;
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  identity.system = name.data();
  identity.boot = own_boot();
  identity.network = number_of_namespace("/proc/self/ns/net");
  identity.users = number_of_namespace("/proc/self/ns/user");
  return identity;
}

Status HostIdentity::check() const {
  if (given.size() <= given_bytes_max) return {};
  return {Code::invalid_environment,
          fmt::format("HOCKET_HOST_ID has more than {} characters; choose a shorter host name", given_bytes_max)};
}

std::string HostIdentity::name() const {
  return given.empty() ? fmt::format("{}/{}", system, boot) : given;
}

std::string HostIdentity::kernel() const {
  return fmt::format("{} {}", boot, given);
}

std::uint64_t HostIdentity::loopback() const {
  // Without these, other hosts would be taken for this one: it is told from all.
  if (boot.empty() || network == 0) return random_number();
  return Hash().add(boot).add(given).add(network).value();
}

}  // namespace hocket
