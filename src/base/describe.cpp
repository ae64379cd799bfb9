// Calls in words, for messages.
#include <fmt/format.h>

#include "src/spi/transport.hpp"

namespace hocket {

Signature as_receiver_calls(Signature signature) {
  if (signature.collective == Collective::send) signature.collective = Collective::recv;
  return signature;
}

std::string describe(const Signature& signature) {
  if (is_split(signature)) return "split, duplicate or subset";
  const auto name = name_of(signature.collective);
  if (signature.collective == Collective::barrier) return std::string(name);
  std::string text = signature.count == Signature::unknown_count
                         ? fmt::format("{} of {}", name, name_of(signature.dtype))
                         : fmt::format("{} of {} {}", name, signature.count, name_of(signature.dtype));
  if (reduces(signature.collective)) text += fmt::format(", {}", name_of(signature.op));
  if (signature.wire() != WireFormat::exact) text += fmt::format(", {} on the wire", name_of(signature.wire()));
  if (is_list(signature)) {
    return text + fmt::format(", of the list of tensors {:08x}", signature.root - Signature::list_root);
  }
  switch (signature.collective) {
    case Collective::reduce_scatter_v:
    case Collective::allgather_v: return text + fmt::format(", counts of digest {:08x}", signature.root);
    case Collective::broadcast:
    case Collective::scatter:
    case Collective::scatter_v: return text + fmt::format(", from root {}", signature.root);
    case Collective::reduce:
    case Collective::gather:
    case Collective::gather_v: return text + fmt::format(", to root {}", signature.root);
    default: return text;
  }
}

}  // namespace hocket
