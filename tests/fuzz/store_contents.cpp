// What others have left in a store: records of its file, and what ranks say there of their meeting (epochs, verdicts,
// places), which a rank reads when it joins.
#include "src/comm/rendezvous.hpp"
#include "src/store/memory_store.hpp"
#include "src/store/record.hpp"
#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {
namespace {

using namespace std::chrono_literals;

bool run_records(std::string_view input) {
  bool taken = false;
  for (;;) {
    const auto record = store::parse_record(input);
    if (!record || !*record) return taken;
    require((*record)->bytes <= input.size());
    require(store::encode_record((*record)->key, (*record)->value) == input.substr(0, (*record)->bytes));
    input.remove_prefix((*record)->bytes);
    taken = true;
  }
}

// Whose get() waits for nobody.
class FilledStore final : public MemoryStore {
 public:
  Result<std::string> get(std::string_view key, Deadline deadline) override {
    auto value = peek(key, deadline);
    if (!value) return value.status();
    return *value ? Result<std::string>(**value) : Status(Code::timeout, "nobody sets it");
  }
};

// Lines "key=value", with which the store is filled before rank 1 of 2 joins.
bool run_join(std::string_view input) {
  FilledStore store;
  const Deadline soon = Deadline::after(1h);
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    const std::size_t equal = line.find('=');
    if (equal != line.npos) (void)store.set(line.substr(0, equal), line.substr(equal + 1), soon);
  }
  comm::Options options;
  options.rank = 1;
  options.size = 2;
  std::stop_source gives_up;
  gives_up.request_stop();
  return comm::Rendezvous::join(store, options, soon, gives_up.get_token()).ok();
}

bool run_verdict(std::string_view input) {
  const auto verdict = comm::Verdict::parse(input);
  require_printable(verdict.why.message());
  return verdict.why.code() != Code::protocol_error;
}

bool run_claim(std::string_view input) {
  const auto claim = comm::Claim::parse(input);
  if (!claim) return false;
  require_printable(claim->process.describe());
  const auto again = comm::Claim::parse(claim->serialise());
  require(again && again->token == claim->token && again->beat == claim->beat && again->process == claim->process);
  return true;
}

bool run(std::string_view input) {
  switch (choose(input, 4)) {
    case 0: return run_records(input);
    case 1: return run_join(input);
    case 2: return run_verdict(input);
    default: return run_claim(input);
  }
}

std::vector<std::string> seeds() {
  return {
      chosen(0, store::encode_record("job/1/group", "4711")),
      chosen(0, store::encode_record("a", "1") + store::encode_record("a", std::nullopt)),
      chosen(
          1,
          "default/epoch=3 size 2 group 4711 leader 12 345 kernel host\ndefault/2/verdict=failed 9 0 it went away\n"),
      chosen(2, comm::Verdict::failed(Status(Code::peer_lost, "it went away"))),
      chosen(2, comm::Verdict::complete()),
      chosen(2, comm::Verdict::superseded()),
      chosen(3, comm::Claim{.process = ProcessIdentity::own(), .token = 1, .beat = 2}.serialise())};
}

}  // namespace

const Target store_contents{"store_contents", run, seeds};

}  // namespace hocket::fuzz
