// hocket-plan probe: measures what messages cost here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/plan/network.hpp"
#include "tools/plan/figure.hpp"
#include "tools/plan/probe_direct.hpp"

namespace hocket {

struct ProbeArguments {
  std::string save;  // file for the network; empty: none
  bool force = false;
};

// One rank under a launcher measures with the others; otherwise this program starts two ranks of itself. Prints on rank
// 0, and returns the program's exit code. Throws UsageError where the file cannot be written.
int probe_command(const ProbeArguments& given);

// ---- for tests ------------------------------------------------------------------------------------------------------

// One class of links, in seconds. `raw` figures are measured; the others follow from them.
struct LinkFigures {
  Figure ping_pong;                        // one way, 8 bytes, both ranks on processors of their own
  Figure one_core;                         // the same on one core, so every message wakes somebody up; 0: not measured
  Figure send, receive;                    // processor, per message
  Figure send_per_byte, receive_per_byte;  // processor, with nobody else at work
  Figure exchange_per_byte;                // both ranks send and receive at once
};
// What the model needs. The latency is what is left of a message's way when both processors' work is taken off, and so
// is waking up on one core; copies are as slow as when all ranks are at them.
LinkCost link_cost_of(const LinkFigures& figures);

// Several connections side by side.
struct StreamsFigure {
  int streams = 1;
  Figure exchange_per_byte;
};
// The fewest connections than which no number is more than a tenth faster. Requires at least one figure.
const StreamsFigure& worthwhile(std::span<const StreamsFigure> figures);

struct ProbeFigures {
  LinkFigures tcp{};
  std::vector<StreamsFigure> streams{};  // of `tcp`; empty on one host, and where HOCKET_TCP_STREAMS has chosen
  std::optional<LinkFigures> shm{};
  std::optional<DirectFigures> direct{};  // where two ranks of one host have a core each
  Figure copy_per_byte{}, reduce_per_byte{};
  bool between_hosts = false;  // what `tcp` was measured over
  Rank hosts = 1;
  int cores = 1;
  double seconds = 0;  // that measuring took, for the longest class
};

// Names of the figures that varied more than the model's error may be: something else was at work.
std::vector<std::string> disturbed(const ProbeFigures& figures);

NetworkDescription description_of(const ProbeFigures& figures);

}  // namespace hocket
