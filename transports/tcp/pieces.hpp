// One system call for what lies in several pieces of memory. The kernel takes longer over several pieces than a copy of
// a small message costs, so these travel as one; and without the price of thread cancellation, which glibc's send() and
// recv() pay for. None waits.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace hocket::tcp {

inline constexpr std::size_t copied_bytes_max = 2048;

// As sendmsg(2) and recvmsg(2).
ssize_t send_pieces(int fd, std::span<const iovec> pieces);
ssize_t receive_pieces(int fd, std::span<const iovec> pieces);

}  // namespace hocket::tcp
