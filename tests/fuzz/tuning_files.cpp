// Tables of choices: files that HOCKET_TUNING names, heads of their tables, and texts of HOCKET_ALGORITHM.
#include "src/plan/tuning.hpp"
#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {
namespace {

bool run_tables(std::string_view input) {
  const auto tables = Tuning::parse(input, "file");
  if (!tables) return false;
  const auto again = Tuning::parse(tables->text(), "file");
  require(again.ok() && again->text() == tables->text() && again->digest() == tables->digest());
  (void)tables->find(4, 2, CallKind::usual, Collective::allreduce, 4096);
  return true;
}

bool run_head(std::string_view input) {
  const auto head = TableHead::parse(input);
  if (head) require(TableHead::parse(head->text()) == head);
  return head.has_value();
}

bool run_choices(std::string_view input) {
  const auto choices = Choices::parse(input);
  if (!choices) return false;
  const auto again = Choices::parse(choices->text());
  require(again.ok() && again->text() == choices->text());
  require(choices->summary().size() <= 100);
  return true;
}

bool run(std::string_view input) {
  switch (choose(input, 3)) {
    case 0: return run_tables(input);
    case 1: return run_head(input);
    default: return run_choices(input);
  }
}

std::vector<std::string> seeds() {
  return {chosen(0,
                 "# written by hand\ntcp_streams=4\n[4 ranks on 1 host]\n"
                 "allreduce=linear:4K,recursive_doubling:256K,ring\n[9+ ranks, powers of two]\n"
                 "allreduce=rabenseifner:1M,ring\n"),
          chosen(0, "[any ranks, shared hosts, in rank order]\nreduce=ordered_chain\n"),
          chosen(1, "[2-8 ranks, powers of two, unequal blocks]"),
          chosen(1, "[4 ranks on 1 host, lower precision]"),
          chosen(2, "ring"),
          chosen(2, "allreduce=linear:4K,recursive_doubling:256K,ring;broadcast=chain")};
}

}  // namespace

const Target tuning_files{"tuning_files", run, seeds};

}  // namespace hocket::fuzz
