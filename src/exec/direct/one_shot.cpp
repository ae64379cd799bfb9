#include "src/exec/direct/one_shot.hpp"

#include "src/exec/direct/combine.hpp"

namespace hocket {

bool OneShotPath::advance(Counters&) {
  const Exchange& exchange = run_.exchange;
  for (std::size_t round = 0; round < exchange.rounds(); ++round) {
    for (std::uint32_t index = 0; index < exchange.parts(); ++index) {
      const Part part = exchange.part(round, index);
      if (part.bytes == 0 || !part.goes_to(run_.self)) continue;
      run_.sources.clear();
      for (std::uint32_t member = 0; member < run_.members; ++member) {
        if (part.comes_from(member)) run_.sources.push_back(run_.payload_of(member) + part.source_offset);
      }
      std::byte* target = run_.binding.output + part.target_offset;
      combine(run_.binding.reduction, run_.sources, {&target, 1}, part.bytes);
    }
  }
  done_ = true;
  return true;
}

}  // namespace hocket
