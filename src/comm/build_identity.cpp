#include "src/comm/build_identity.hpp"

#include <fmt/format.h>

#include "src/base/hash.hpp"
#include "src/plan/class_tables.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/plan/slicing.hpp"
#include "src/spi/schedule.hpp"
#include "src/spi/transport.hpp"
#include "transports/registry.hpp"

// Raised when what ranks tell each other, or derive alike, changes and nothing below shows it: peer information,
// announcements, how lists are packed. A test builds another one.
#ifndef HOCKET_PROTOCOL_VERSION
#define HOCKET_PROTOCOL_VERSION 11
#endif

namespace hocket::comm {
namespace {

template <class... Numbers>
void add(Hash& hash, Numbers... numbers) {
  (hash.add(static_cast<std::uint64_t>(numbers)), ...);
}

// Stays the first thing that ranks compare: what cannot be read has another one.
std::uint64_t digest_of_protocol() {
  Hash hash;
  add(hash, HOCKET_PROTOCOL_VERSION, sizeof(Tag), call_slice_bytes, slices_in_group(1), slices_in_group(2),
      message_bytes_max, block_slice_bytes);
  add(hash, wire_block_elements, direct::announcements, direct::run_ahead_max, direct::inline_bytes_max,
      direct::second_lines, direct::payload_bytes, direct::near_payload_bytes, direct::payload_bytes_max,
      direct::one_way_bytes_max, direct::usual_staging_bytes);
  for (const TransportEntry& entry : transports()) hash.add(entry.name).add(entry.version);
  return hash.value();
}

std::uint64_t digest_of_tables() {
  Hash hash;
  for (const CollectiveInfo& row : collective_table) {
    hash.add(row.name);
    add(hash, row.collective, row.chunks, row.input.held, row.input.holders, row.output.held, row.output.holders,
        row.combines, row.direct_paths, row.wire_formats, row.equal_blocks, row.counts);
  }
  for (const DataTypeInfo& row : data_type_table) {
    hash.add(row.name);
    add(hash, row.dtype, row.bytes, row.kind, row.wire_formats);
  }
  for (const ReduceOpInfo& row : reduce_op_table) {
    hash.add(row.name);
    add(hash, row.op, row.takes, row.combines_as, row.divides, row.instead_of_prefix.empty(), row.wire_formats);
  }
  return hash.value();
}

// A sum, so that the order of the entries does not matter, which people alone see.
std::uint64_t digest_of_catalog() {
  std::uint64_t sum = 0;
  for (const Algorithm& algorithm : catalog()) {
    Hash hash;
    hash.add(name_of(algorithm.collective)).add(algorithm.name);
    add(hash, algorithm.version, algorithm.chunking, algorithm.multi_block, algorithm.forwards_blocks,
        algorithm.by_host, algorithm.encoded, algorithm.in_rank_order);
    sum += hash.value();
  }
  return sum;
}

}  // namespace

const BuildIdentity& BuildIdentity::own() {
  static const BuildIdentity identity{.protocol = digest_of_protocol(),
                                      .tables = digest_of_tables(),
                                      .catalog = digest_of_catalog(),
                                      .selection = selection_digest()};
  return identity;
}

std::string difference(const BuildIdentity& here, const BuildIdentity& there) {
  const struct {
    const char* says;
    std::uint64_t here, there;
  } parts[] = {
      {"its protocol differs", here.protocol, there.protocol},
      {"its tables of collectives, types and reductions differ", here.tables, there.tables},
      {"its catalog of algorithms differs", here.catalog, there.catalog},
      {"its selection tables differ", here.selection, there.selection},
  };
  for (const auto& part : parts) {
    if (part.here == part.there) continue;
    return fmt::format("{} (digest {:016x}, here {:016x})", part.says, part.there, part.here);
  }
  return {};
}

}  // namespace hocket::comm
