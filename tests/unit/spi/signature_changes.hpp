// One way to change each field of a signature.
#pragma once

#include <functional>
#include <vector>

#include "src/spi/signature.hpp"

namespace hocket {

// Each changes one field of an allreduce.
inline const std::vector<std::function<void(Signature&)>> signature_changes = {
    [](Signature& call) { call.kind = SignatureKind::list; },
    [](Signature& call) { call.collective = Collective::reduce; },
    [](Signature& call) { call.dtype = DataType::int32; },
    [](Signature& call) { call.op = ReduceOp::max; },
    [](Signature& call) { call.wire = WireFormat::int8_blocks; },
    [](Signature& call) { call.opaque_bytes = 4096; },
    [](Signature& call) { call.algorithm = 1; },
    [](Signature& call) { call.root = 1; },
    [](Signature& call) { call.count = std::uint64_t{1} << 47; },
    [](Signature& call) { call.digest = std::uint64_t{1} << 63; },
};

}  // namespace hocket
