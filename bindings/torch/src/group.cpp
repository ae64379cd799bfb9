#include "bindings/torch/src/group.hpp"

#include "bindings/torch/src/failure.hpp"
#include "bindings/torch/src/store.hpp"

namespace hocket_torch {
namespace {

constexpr std::int64_t between_looks_at_signals_ms = 100;

// Creates a communicator, unless a signal's handler raises meanwhile.
CommHandle meet(const GroupOptions& options) {
  SharedStore store(options.store);
  const hocket_store_callbacks callbacks = store.callbacks();
  hocket_comm_options given = HOCKET_COMM_OPTIONS_INIT;
  given.world_size = options.size;
  given.rank = options.rank;
  given.timeout_ms = options.timeout.count();
  given.name = options.name.c_str();
  given.store_callbacks = &callbacks;
  hocket_creation* started = nullptr;
  check(hocket_comm_create_start(&started, &given));
  const std::shared_ptr<hocket_creation> creation(started, hocket_creation_destroy);
  for (;;) {
    hocket_comm* comm = nullptr;
    const hocket_result result = hocket_creation_wait(started, between_looks_at_signals_ms, &comm);
    if (result == HOCKET_OK) return own(comm);
    if (result != HOCKET_IN_PROGRESS) {
      std::string why = hocket_last_error();
      if (!store.trouble().empty()) why += ": " + store.trouble();
      std::rethrow_exception(failure(result, why));
    }
    check_signals();
  }
}

// Messages have links of their own, so that a collective does not wait for a receive that was called before it.
std::shared_ptr<Messages> make_messages(hocket_comm* comm, const GroupOptions& options) {
  if (options.size == 1) return nullptr;
  const std::string name = options.name + "/messages";
  hocket_split_options given = HOCKET_SPLIT_OPTIONS_INIT;
  given.name = name.c_str();
  hocket_comm* child = nullptr;
  check(hocket_comm_duplicate(comm, &child, &given));
  return std::make_shared<Messages>(own(child), options.rank, options.size);
}

}  // namespace

Group::Group(const GroupOptions& options)
    : rank_(options.rank),
      size_(options.size),
      store_(options.store),
      name_(options.name),
      timeout_ms_(options.timeout.count()),
      comm_(meet(options)),
      messages_(make_messages(comm_.get(), options)) {}

Group::~Group() {
  if (messages_) messages_->close();
}

void Group::abort(const std::string& reason) {
  check(hocket_comm_abort(comm_.get(), reason.c_str()));
  if (messages_) messages_->abort(reason.c_str());
}

}  // namespace hocket_torch
