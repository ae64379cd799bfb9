#include "src/exec/direct/one_shot.hpp"

#include "src/exec/direct/combine.hpp"

namespace hocket {

bool OneShotPath::advance(Counters&) {
  const Exchange& exchange = run_.exchange;
  if (exchange.collective().is_vector()) {
    move(exchange.whole());
  } else {
    for (std::size_t number = 0; number < run_.parts(); ++number) move(run_.part(number));
  }
  done_ = true;
  return true;
}

void OneShotPath::move(const Part& part) {
  if (part.bytes == 0 || !part.goes_to(run_.self)) return;
  run_.sources.clear();
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (part.comes_from(member)) run_.sources.push_back(run_.payload_of(member) + part.source_offset);
  }
  std::byte* target = run_.binding.output + part.target_offset;
  combine(run_.binding.reduction, run_.sources, {&target, 1}, part.bytes);
}

}  // namespace hocket
