#include "tools/doctor/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "src/base/printable.hpp"
#include "tools/doctor/clocks.hpp"

namespace hocket::doctor {
namespace {

constexpr std::size_t columns_max = 16;
constexpr int cell_width = 14;
constexpr int call_width = 44;

enum class Look { plain, good, bad, faint };

std::string paint(const std::string& text, Look look, bool colours) {
  if (!colours || look == Look::plain) return text;
  const int code = look == Look::good ? 32 : look == Look::bad ? 31 : 2;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string cut(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : printable(text, width - 1);
}

std::string span(std::int64_t nanoseconds) {
  const auto time = static_cast<double>(nanoseconds);
  if (time < 1e6) return fmt::format("{:.0f} us", time / 1e3);
  return time < 1e9 ? fmt::format("{:.1f} ms", time / 1e6) : fmt::format("{:.1f} s", time / 1e9);
}

using Number = std::pair<std::uint32_t, std::uint32_t>;  // communicator, call

// The calls that are shown, in their order.
std::vector<Number> latest_calls(const Group& group, std::uint32_t communicator, int rows) {
  std::set<Number> numbers;
  for (const auto& [rank, record] : group.records) {
    for (const Call& call : record.calls) {
      if (!call.is_message() && call.communicator == communicator) numbers.insert({call.communicator, call.number});
    }
  }
  std::vector<Number> latest(numbers.begin(), numbers.end());
  const auto kept = std::min(latest.size(), static_cast<std::size_t>(rows));
  return {latest.end() - static_cast<std::ptrdiff_t>(kept), latest.end()};
}

class Picture {
 public:
  Picture(const Group& group, bool colours) : group_(group), clocks_(align_clocks(group)), colours_(colours) {
    for (Rank rank = 0; rank < group.size && ranks_.size() < columns_max; ++rank) ranks_.push_back(rank);
  }

  std::string draw(int rows) {
    std::set<std::uint32_t> communicators;
    for (const auto& [rank, record] : group_.records) {
      for (const Call& call : record.calls) {
        if (!call.is_message()) communicators.insert(call.communicator);
      }
    }
    for (const std::uint32_t communicator : communicators) draw_communicator(communicator, rows);
    draw_waits();
    if (static_cast<std::size_t>(group_.size) > ranks_.size()) {
      text_ += fmt::format("({} more ranks are not shown)\n", static_cast<std::size_t>(group_.size) - ranks_.size());
    }
    return text_;
  }

 private:
  void draw_communicator(std::uint32_t communicator, int rows) {
    text_ += fmt::format("{:<{}}", "communicator \"" + cut(name_of(communicator), call_width - 16) + "\"", call_width);
    for (const Rank rank : ranks_) text_ += fmt::format("{:<{}}", fmt::format("rank {}", rank), cell_width);
    text_ += '\n';
    for (const Number& number : latest_calls(group_, communicator, rows)) draw_call(number);
  }

  void draw_call(const Number& number) {
    std::map<std::string, int> texts;
    std::optional<std::int64_t> first;
    for (const auto& [rank, record] : group_.records) {
      const Call* const call = record.collective(number.first, number.second);
      if (call == nullptr) continue;
      ++texts[call->text];
      const std::int64_t began = call->began + clocks_.at(rank).nanoseconds;
      first = std::min(first.value_or(began), began);
    }
    const auto most = std::ranges::max_element(texts, {}, [](const auto& text) { return text.second; });
    text_ +=
        fmt::format("{:<{}}", cut(fmt::format("{:>5} {}", number.second, most->first), call_width - 1), call_width);
    for (const Rank rank : ranks_) draw_cell(rank, number, most->first, *first);
    text_ += '\n';
  }

  void draw_cell(Rank rank, const Number& number, const std::string& usual, std::int64_t first) {
    const Record* const record = group_.of(rank);
    const Call* const call = record == nullptr ? nullptr : record->collective(number.first, number.second);
    std::string cell = record == nullptr ? "no record" : "-";
    Look look = record == nullptr ? Look::faint : Look::bad;
    if (call != nullptr) {
      const bool same = call->text == usual;
      look = !same || !call->ended ? Look::bad : Look::good;
      cell = !same ? call->collective
                   : fmt::format("{} +{}", call->ended ? "ended" : "waits",
                                 span(call->began + clocks_.at(rank).nanoseconds - first));
    }
    text_ += paint(fmt::format("{:<{}}", cut(cell, cell_width - 1), cell_width), look, colours_);
  }

  void draw_waits() {
    for (const auto& [rank, record] : group_.records) {
      for (const Wait& wait : record.waits) {
        const std::string line = fmt::format("rank {} has waited for {:.1f} s in {}{}", rank, wait.seconds,
                                             wait.call.text, wait.begun ? ": " + wait.text : ", which has not begun");
        text_ += paint(line, Look::bad, colours_) + '\n';
      }
    }
  }

  std::string name_of(std::uint32_t communicator) const {
    for (const auto& [rank, record] : group_.records) {
      const auto found = record.communicators.find(communicator);
      if (found != record.communicators.end()) return found->second.name;
    }
    return fmt::format("number {}", communicator);
  }

  const Group& group_;
  const std::map<Rank, ClockOffset> clocks_;
  const bool colours_;
  std::vector<Rank> ranks_;
  std::string text_;
};

}  // namespace

std::string draw(const Group& group, int rows, bool colours) {
  return Picture(group, colours).draw(rows);
}

}  // namespace hocket::doctor
