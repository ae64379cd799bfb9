#include "src/comm/job_secret.hpp"

#include <fmt/format.h>

namespace hocket::comm {

bool needs_secret(const Options& options) {
  return options.trust.secret.empty() && !options.trust.insecure;
}

std::string secret_key(const Options& options) {
  return options.name + "/secret";
}

Result<Options> with_secret(const Options& options, Store& store, Deadline deadline) {
  if (!needs_secret(options)) return options;
  Options own = options;
  own.trust.secret = random_secret();
  const auto found = store.compare_and_set(secret_key(options), std::nullopt, own.trust.secret, deadline);
  if (!found.ok()) return found.status();
  if (*found) own.trust.secret = **found;
  const Status sound = check_secret(own.trust.secret, fmt::format("what the store {} keeps as secret", store.url()));
  if (!sound.ok()) return Status(Code::protocol_error, sound.message());
  return own;
}

}  // namespace hocket::comm
