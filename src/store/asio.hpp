// Asio, as all of the server's sources must see it. Nothing else includes it: it takes long to compile.
#pragma once

// First the standard library: its macros decide how Asio allocates, and how it frees.
#include <cstddef>

// One thread runs each context, so what it does needs no fences (which ThreadSanitizer does not understand).
#define ASIO_DISABLE_FENCED_BLOCK

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

namespace hocket::store {

// Closes it so that the other side sees it whoever else holds this socket.
inline void end(asio::ip::tcp::socket& socket) {
  asio::error_code ignored;
  socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket.close(ignored);
}

}  // namespace hocket::store
