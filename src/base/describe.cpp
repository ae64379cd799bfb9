// Calls in words, for messages.
#include <fmt/format.h>

#include "src/spi/transport.hpp"

namespace hocket {

Signature as_receiver_calls(Signature signature) {
  if (signature.collective == Collective::send) signature.collective = Collective::recv;
  return signature;
}

std::string describe_type(DataType dtype, std::size_t element_bytes) {
  if (dtype != DataType::opaque) return std::string(name_of(dtype));
  return fmt::format("opaque elements of {} bytes", element_bytes);
}

std::string describe(const Signature& signature) {
  if (is_split(signature)) return "split, duplicate or subset";
  const CollectiveInfo& collective = info_of(signature.collective);
  const auto name = collective.name;
  if (collective.chunks == Chunks::token) return std::string(name);
  const std::string type = describe_type(signature.dtype, size_of(signature));
  std::string text = signature.count == Signature::unknown_count
                         ? fmt::format("{} of {}", name, type)
                         : fmt::format("{} of {} {}", name, signature.count, type);
  if (collective.reduces()) text += fmt::format(", {}", name_of(signature.op));
  if (signature.wire() != WireFormat::exact) text += fmt::format(", {} on the wire", name_of(signature.wire()));
  if (is_list(signature)) {
    return text + fmt::format(", of the list of tensors {:08x}", signature.root - Signature::list_root);
  }
  if (collective.has_unequal_blocks() && collective.all_know_blocks()) {
    return text + fmt::format(", counts of digest {:08x}", signature.root);
  }
  if (!collective.has_root()) return text;
  return text + fmt::format(", {} root {}", collective.is_from_root() ? "from" : "to", signature.root);
}

}  // namespace hocket
