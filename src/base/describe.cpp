// Calls in words, for messages.
#include <fmt/format.h>

#include "src/spi/signature.hpp"

namespace hocket {
namespace {

// The names of rows whose elements may travel in lower precision.
template <class Table>
std::string names_with_wire_formats(const Table& table) {
  std::string names;
  for (const auto& row : table) {
    if (row.wire_formats) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return names;
}

}  // namespace

std::string describe_type(DataType dtype, std::size_t element_bytes) {
  if (dtype != DataType::opaque) return std::string(name_of(dtype));
  return fmt::format("opaque elements of {} bytes", element_bytes);
}

std::string describe(const Signature& signature) {
  if (signature.kind == SignatureKind::split) return "split, duplicate or subset";
  const CollectiveInfo& collective = info_of(signature.collective);
  const auto name = collective.name;
  if (collective.chunks == Chunks::token) return std::string(name);
  const std::string type = describe_type(signature.dtype, size_of(signature));
  std::string text = signature.count == Signature::unknown_count
                         ? fmt::format("{} of {}", name, type)
                         : fmt::format("{} of {} {}", name, signature.count, type);
  if (collective.reduces()) text += fmt::format(", {}", name_of(signature.op));
  if (signature.wire != WireFormat::exact) text += fmt::format(", {} on the wire", name_of(signature.wire));
  if (collective.has_root()) {
    text += fmt::format(", {} root {}", collective.is_from_root() ? "from" : "to", signature.root);
  }
  if (signature.kind == SignatureKind::list) text += fmt::format(", of the list of tensors {:016x}", signature.digest);
  if (collective.has_unequal_blocks() && collective.all_know_blocks()) {
    text += fmt::format(", counts of digest {:016x}", signature.digest);
  }
  return text;
}

std::string describe_wire_calls() {
  return fmt::format("{} of {}, with {} where they reduce", names_with_wire_formats(collective_table),
                     names_with_wire_formats(data_type_table), names_with_wire_formats(reduce_op_table));
}

}  // namespace hocket
