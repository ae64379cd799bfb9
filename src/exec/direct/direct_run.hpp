// One run of a direct operation, as its announcer and its path see it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/exec/direct/announcement.hpp"
#include "src/exec/direct/combine.hpp"
#include "src/exec/direct/control_lines.hpp"
#include "src/exec/direct/window_use.hpp"
#include "src/exec/operation.hpp"
#include "src/plan/direct/block_exchange.hpp"
#include "src/plan/direct/exchange.hpp"
#include "src/plan/direct/path.hpp"

namespace hocket {

struct DirectRun {
  // The context's ranks are the window's members.
  DirectRun(WindowUse& window_use, const Binding& bound, Context& whose)
      : use(window_use),
        binding(bound),
        context(whose),
        members(use.window->size()),
        self(use.window->self()),
        announcements(members),
        payloads(members),
        inputs(members),
        outputs(members) {
    sources.reserve(members);
    targets.reserve(members);
    exchanged.reserve(members);
    for (std::uint32_t member = 0; member < members; ++member) lines.push_back(window().control_lines(member));
  }

  Window& window() const { return *use.window; }
  std::atomic<std::uint64_t>& word(std::uint32_t member, std::size_t line, std::size_t index = 0) const {
    return lines[member][line].words[index];
  }
  // What a member has announced, or will.
  Announcement::Written announcement_of(std::uint32_t member, std::uint64_t of_turn) const {
    return {lines[member], of_turn};
  }
  // Where a member's payload lies on the paths on which inputs go with the announcements; of this member: its input.
  // Requires that the member has been heard.
  const std::byte* payload_of(std::uint32_t member) const { return payloads[member]; }
  // Settles whether the payload stands in the announcement, which then says nothing else. Before the first run of all
  // that begin alike.
  void settle_place_of_payload() {
    puts_in_line = goes_in_line && !binding.device;
    if (puts_in_line) announcements[self].flags = Announcement::inlined;
  }
  // What every run begins with: the exchange and the rule of the call that is bound. They follow from the call and from
  // what never changes, so mostly they still stand. Returns whether they do. `tag`: of the call that is announced; the
  // run may be a part of it, always the same one. `is_bound_anew`: the call may be another.
  bool begin(const Tag& tag, bool is_bound_anew) {
    if (begins_like_latest && !is_bound_anew) return true;
    if (!failure.ok()) failure = {};
    if (begins_like_latest && tag.call == latest_call && binding.root == latest_root && given_blocks == latest_blocks) {
      return true;
    }
    latest_call = tag.call;
    latest_root = binding.root;
    latest_blocks = given_blocks;
    compared = {tag.call, tag.communicator & Announcement::communicator_max};
    make_exchange_and_rule();
    begins_like_latest = true;
    return false;
  }
  // Cuts the data as `path` wants it, where that is not as every run begins.
  void cut_for(DirectPath path) {
    const std::size_t grain = grain_of(path, exchange, window().staging_bytes());
    if (grain == first_grain_bytes) return;
    exchange = Exchange(binding.signature, exchange.root(), members, grain, known_blocks());
    begins_like_latest = false;
  }
  // The parts of all rounds, counted through.
  std::size_t parts() const { return exchange.rounds() * exchange.parts(); }
  Part part(std::size_t number) const {
    return exchange.part(number / exchange.parts(), static_cast<std::uint32_t>(number % exchange.parts()));
  }
  // Copies so much of the input into this member's staging area, where `reader` reads it, or everyone.
  void put(std::byte* to, std::size_t input_offset, std::size_t bytes, std::uint32_t reader) const {
    use.copy_for(reader).copy(to, binding.input + input_offset, bytes, traffic());
  }
  // Whether this member wants to read plain memory in this turn.
  bool makes_single_copies() const {
    if (!rule.plain) return false;
    if (!use.tries_copies(turn)) return use.makes_single_copies(exchange.input_bytes(self), traffic());
    use.copy_for(everyone).measure_next();
    return false;
  }
  // Whether that much is stored past the caches into a staging area, where `reader` reads it, or everyone.
  bool streams(std::size_t bytes, std::uint32_t reader) const { return use.streams_for(reader, bytes, traffic()); }
  // Whether what is copied to the output is stored past the caches. Blocks that vary may overlap where they have gaps.
  bool output_exceeds_caches() const {
    const std::size_t in = exchange.input_bytes(self), out = exchange.output_bytes(self);
    const bool apart = binding.input + in <= binding.output || binding.output + out <= binding.input;
    const bool in_place = given_blocks != nullptr || (in != 0 && out != 0 && !apart);
    return exceeds_caches(exchange, in_place, use.setting);
  }
  // What the members give each other, on whatever path.
  [[gnu::always_inline]] void count_exchanged() const {
    for (const Exchanged& with_one : exchanged) with_one.peer->carried(with_one.given, with_one.taken);
  }
  // The first failure stays.
  void fail(const Status& status) {
    if (failure.ok()) failure = status;
  }

  WindowUse& use;
  const Binding& binding;
  std::shared_ptr<const UnequalBlocks> given_blocks{};  // to which it is bound, too; null: they are equal
  Context& context;
  const std::uint32_t members, self;
  std::vector<ControlLine*> lines{};  // by member
  std::uint64_t turn = 0;             // the number of the operation on this window
  DirectRule rule{};
  Exchange exchange{};                                 // where not all know all blocks: who gives whom, not how much
  BlockExchange blocks{};                              // where not all know all blocks
  ComparedCall compared{};                             // the call that is announced
  DirectPath path_of_payloads = DirectPath::one_shot;  // where everyone's input goes with its announcement
  Members needed{};                                    // those whose data, or word that they have begun, this one needs
  std::uint64_t runs_ahead = 0;         // how many operations others may still have to begin when this one does
  bool is_over_at_once = false;         // then, when all were heard; most small calls are
  bool may_meet_links = false;          // a rank that gives another count may wait for this one over links
  std::size_t payload_bytes = 0;        // of this member, where its input goes with its announcement
  std::size_t payload_input_bytes = 0;  // of these: input
  bool goes_in_line = false;            // it stands in the announcement itself, if it is the host's
  bool puts_in_line = false;            // it is
  bool is_small = false;                // no link is needed, and nothing takes long
  int polls_before_waking = 0;          // of others, after the announcement
  // The parts that go to this member, where the data may be small. `pairs`: elements of two operands that one call of
  // the kernel combines; 0: the part is none of these.
  struct AtOnce {
    Part part;
    std::size_t pairs = 0;
  };
  std::vector<AtOnce> at_once{};
  std::vector<Announcement> announcements;  // of this turn, by member
  std::vector<const std::byte*> payloads;   // likewise
  Status failure{};

  // Scratch, here so that no run allocates.
  std::vector<const std::byte*> sources{};  // of combine()
  std::vector<std::byte*> targets{};
  std::vector<const std::byte*> inputs;  // where the members' buffers are mapped, by member
  std::vector<std::byte*> outputs;

 private:
  static constexpr std::size_t small_bytes_max = 4096;  // are copied within a microsecond
  static constexpr int usual_polls_before_waking = 8;

  // What this member exchanges with another one, or with each other one.
  struct Exchanged {
    PeerCounters* peer = nullptr;
    std::uint64_t given = 0, taken = 0;  // bytes
  };

  // That of what this member puts into its staging area. Where several read it, each reads it from memory.
  SharedCopy::Traffic traffic() const {
    const bool one_way =
        !use.setting.shares_work && (exchange.only_root_gives() ? members == 2 || !exchange.cuts_vector()
                                                                : exchange.only_root_takes() && !exchange.combines());
    return one_way ? SharedCopy::Traffic::one_way : SharedCopy::Traffic::both_ways;
  }

  void make_exchange_and_rule() {
    const auto root = static_cast<std::uint32_t>(binding.root);
    packs_blocks() ? take_blocks(root) : take_call(root);
    const std::size_t in = exchange.input_bytes(self), out = exchange.output_bytes(self);
    const bool goes_with_announcement = rule.has_payload() && !rule.worth_mapping(in, out);
    goes_in_line = goes_with_announcement && payload_bytes <= Announcement::inline_bytes_max;
    is_small = goes_with_announcement && std::max(payload_bytes, out) <= small_bytes_max;
    polls_before_waking = use.setting.shares_work ? 0 : usual_polls_before_waking;
    if (rule.pools_work) (void)window().staging(self);  // committed before others write results there
    path_of_payloads = direct_path(exchange, rule, {.mapped = false, .plain = false});
    needed = rule.one_way ? exchange.needed_by(self) : Members{0, members};
    const bool takes_second_line = compared.has_digest || rule.plain;
    runs_ahead = takes_second_line ? direct::run_ahead_max_with_second_line : direct::run_ahead_max;
    list_parts();
    may_meet_links = exchange.collective().is_prefix() ||
                     (known_blocks() && rule.one_way && may_go_over_links(members, use.setting));
    is_over_at_once = path_of_payloads == DirectPath::one_shot && !may_meet_links;
    find_exchanged(root);
  }

  // Whether blocks vary, and only their two ends know how large they are.
  bool packs_blocks() const { return given_blocks && !info_of(binding.signature.collective).all_know_blocks(); }
  // Where all members know them.
  std::shared_ptr<const UnequalBlocks> known_blocks() const { return packs_blocks() ? nullptr : given_blocks; }

  void take_call(std::uint32_t root) {
    exchange = Exchange(binding.signature, root, members, first_grain_bytes, known_blocks());
    blocks = BlockExchange();
    rule = use.rule_of(exchange);
    rule.plain = rule.plain && use.window->reads_plain_memory();
    if (!exchange.blocks_adjoin())
      rule.mapped_bytes_min = SIZE_MAX;  // another member would write as its own blocks lie
    payload_bytes = payload_input_bytes = exchange.input_bytes(self);
  }

  // Whoever calls it has seen to it that all is small.
  void take_blocks(std::uint32_t root) {
    Signature of_one_element = binding.signature;
    of_one_element.count = 1;
    exchange = Exchange(of_one_element, root, members, first_grain_bytes);
    blocks = BlockExchange(binding.signature, *given_blocks, {.self = self, .root = root, .members = members});
    rule = {.mapped_bytes_min = SIZE_MAX, .fits = true, .one_way = exchange.collective().has_root()};
    payload_bytes = blocks.payload_bytes();
    payload_input_bytes = blocks.block_bytes();
  }

  void find_exchanged(std::uint32_t root) {
    exchanged.clear();
    if (exchange.rounds() == 0) return;
    const std::size_t bytes = exchange.block_bytes();
    if (given_blocks || exchange.collective().is_prefix()) {
      for (std::uint32_t member = 0; member < members; ++member) {
        if (member == self) continue;
        const auto [given, taken] = blocks.packs()
                                        ? blocks.traffic()[member]
                                        : BlockExchange::Traffic{.given = exchange.bytes_given(self, member),
                                                                 .taken = exchange.bytes_given(member, self)};
        exchanged.push_back({&context.with(static_cast<Rank>(member)), given, taken});
      }
      return;
    }
    const bool is_root = self == root, one_gives = exchange.only_root_gives(), one_takes = exchange.only_root_takes();
    exchanged.push_back({&context.with(!is_root && (one_gives || one_takes) ? static_cast<Rank>(root) : every_rank),
                         (is_root ? one_takes : one_gives) ? 0 : bytes, (is_root ? one_gives : one_takes) ? 0 : bytes});
  }

  void list_parts() {
    at_once.clear();
    if (blocks.packs()) {
      for (const Part& part : blocks.parts()) at_once.push_back({part, pairs_of(part)});
      return;
    }
    if (!rule.fits || rule.pools_work) return;
    const auto add = [this](const Part& part) {
      if (part.bytes != 0 && part.goes_to(self)) at_once.push_back({part, pairs_of(part)});
    };
    if (exchange.cuts_vector()) return add(exchange.whole());
    for (std::size_t round = 0; round < exchange.rounds(); ++round) {
      for (std::uint32_t step = 0; step < exchange.parts(); ++step) {
        add(exchange.part(round, exchange.index_in_turn(self, step)));
      }
    }
  }

  std::size_t pairs_of(const Part& part) const {
    const Reduction& reduction = binding.reduction;
    const bool combines_two = part.source == everyone && std::min(part.operands, members) == 2;
    if (!combines_two || reduction.all != nullptr || part.bytes > combine_block_bytes) return 0;
    return part.bytes / reduction.element_bytes;
  }

  // The call that the exchange and the rule were made for, and the root of the run.
  Signature latest_call;
  Rank latest_root = 0;
  std::shared_ptr<const UnequalBlocks> latest_blocks;
  std::vector<Exchanged> exchanged{};
  bool begins_like_latest = false;  // they are as a run of that call begins
};

}  // namespace hocket
