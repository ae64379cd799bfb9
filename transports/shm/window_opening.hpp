// Opens a window: takes its handshake through while the transport makes progress.
#pragma once

#include <memory>

#include "src/spi/transport.hpp"
#include "transports/shm/shm_window.hpp"

namespace hocket::shm {

// `links`: to the members that are to be connected before anything else, the neighbours on the ring among them. Blocks
// until all members agree, or one fails or refuses, or the listener gives it up, or the deadline.
Result<std::unique_ptr<Window>> open(std::unique_ptr<ShmWindow> window, std::span<ShmLink* const> links,
                                     Transport& transport, const TransportListener& listener, Deadline deadline);

}  // namespace hocket::shm
