// The identity of the fuzzers' build: one that is known. The real one would bring in all transports.
#include "src/comm/build_identity.hpp"

namespace hocket::comm {

const BuildIdentity& BuildIdentity::own() {
  static const BuildIdentity identity{.protocol = 1, .tables = 2, .catalog = 3, .selection = 4};
  return identity;
}

}  // namespace hocket::comm
