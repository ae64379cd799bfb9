#include "src/store/session.hpp"

#include <fmt/format.h>

#include <array>

namespace hocket::store {
namespace {

// A client that does not read its answers is not read from, either.
constexpr std::size_t unsent_bytes_max = std::size_t{8} << 20;
constexpr std::size_t answers_in_one_write = 32;
constexpr std::size_t idle_input_bytes_max = 65536;

}  // namespace

Session::Session(SessionListener& listener, ClientId id, asio::ip::tcp::socket socket)
    : listener_(listener), id_(id), socket_(std::move(socket)), timer_(socket_.get_executor()) {
  asio::error_code error;
  const auto endpoint = socket_.remote_endpoint(error);
  peer_ = error ? "a client that is gone" : endpoint.address().to_string(error);
}

void Session::start(std::chrono::milliseconds greeting_timeout) {
  guarded([&] {
    asio::error_code ignored;  // each of these is an improvement, none a need
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    socket_.non_blocking(true, ignored);
    timer_.expires_after(greeting_timeout);
    timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
      if (!error && self->open_ && !self->welcome_) self->refuse("it did not greet in time");
    });
    read();
  });
}

void Session::respond(std::uint64_t request, Code code, Dictionary::Value payload) {
  guarded([&] {
    const std::size_t payload_bytes = payload ? payload->size() : 0;
    send({wire::encode_response_head(request, code, payload_bytes), std::move(payload)});
  });
}

void Session::close() {
  if (!open_) return;
  open_ = false;
  const auto self = shared_from_this();
  asio::error_code ignored;
  timer_.cancel(ignored);
  socket_.close(ignored);
  queue_.clear();
  listener_.left(*this);
}

template <class Step>
void Session::guarded(Step step) {
  try {
    step();
  } catch (const std::exception& error) {
    if (open_) refuse(error.what());
  }
}

void Session::read() {
  if (!open_ || reads_ || last_words_ || unsent_bytes_ > unsent_bytes_max) return;
  reads_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this()](const asio::error_code& error) {
    self->reads_ = false;
    if (error) return self->close();
    self->guarded([&] { self->on_readable(); });
  });
}

void Session::on_readable() {
  std::array<char, 65536> block;
  asio::error_code error;
  const std::size_t got = socket_.read_some(asio::buffer(block), error);
  if (error && error != asio::error::would_block && error != asio::error::try_again &&
      error != asio::error::interrupted) {
    return close();
  }
  input_.append(block.data(), got);
  std::size_t used = 0;
  if (!welcome_) used = take_greeting();
  input_.erase(0, used);
  proceed();
}

void Session::proceed() {
  if (welcome_) input_.erase(0, take_frames());
  if (input_.empty() && input_.capacity() > idle_input_bytes_max) input_ = {};
  read();
}

// Both return how many bytes of the input are used up.
std::size_t Session::take_greeting() {
  const auto greeting = wire::parse_greeting(input_, wire::client_magic);
  if (!greeting) {
    refuse(greeting.status().message());
    return 0;
  }
  if (!*greeting) return 0;
  const auto answer = [&](wire::Verdict verdict, const std::string& text) {
    const wire::Greeting mine{.word = static_cast<std::uint16_t>(verdict), .text = text};
    last_words_ = verdict != wire::Verdict::welcome;
    send({wire::encode_greeting(wire::server_magic, mine), nullptr});
    if (last_words_) listener_.refused(*this, text);
  };
  if ((*greeting)->version != wire::version) {
    answer(
        wire::Verdict::other_version,
        fmt::format("the client speaks version {} of the protocol and the store version {}; install the same Hocket on "
                    "both sides",
                    (*greeting)->version, wire::version));
  } else if ((*greeting)->word != wire::no_authentication) {
    answer(wire::Verdict::refused, "the client wants an authentication that the store does not know");
  } else {
    welcome_ = true;
    timer_.cancel();
    listener_.welcomed(*this);
    answer(wire::Verdict::welcome, "");
  }
  return (*greeting)->size();
}

std::size_t Session::take_frames() {
  std::size_t used = 0;
  while (open_ && unsent_bytes_ <= unsent_bytes_max) {
    const auto body = wire::parse_frame(std::string_view(input_).substr(used), wire::request_bytes_max);
    if (body && !*body) break;
    const auto request = body ? wire::parse_request(**body) : Result<wire::Request>(body.status());
    if (!request) {
      refuse(request.status().message());
      break;
    }
    used += wire::frame_head_bytes + (*body)->size();
    listener_.requested(*this, *request);
  }
  return used;
}

void Session::send(Outgoing outgoing) {
  if (!open_) return;
  unsent_bytes_ += outgoing.bytes();
  queue_.push_back(std::move(outgoing));
  if (!writes_) write();
}

void Session::write() {
  std::vector<asio::const_buffer> buffers;
  while (!queue_.empty() && writing_.size() < answers_in_one_write) {
    writing_.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  for (const Outgoing& outgoing : writing_) {
    buffers.push_back(asio::buffer(outgoing.head));
    if (outgoing.payload) buffers.push_back(asio::buffer(*outgoing.payload));
  }
  writes_ = true;
  asio::async_write(socket_, buffers, [self = shared_from_this()](const asio::error_code& error, std::size_t) {
    self->writes_ = false;
    for (const Outgoing& outgoing : self->writing_) self->unsent_bytes_ -= outgoing.bytes();
    self->writing_.clear();
    if (error) return self->close();
    self->guarded([&] {
      if (self->open_ && !self->queue_.empty()) return self->write();
      if (self->last_words_) return self->close();
      self->proceed();
    });
  });
}

void Session::refuse(std::string_view why) {
  listener_.refused(*this, why);
  close();
}

}  // namespace hocket::store
