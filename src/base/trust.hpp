// Trust: what a process asks of those who connect to it, and of those it connects to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/base/tls.hpp"
#include "src/spi/status.hpp"

namespace hocket {

struct Trust {
  std::string secret = {};              // both sides of every connection prove that they know it; empty: there is none
  bool insecure = false;                // without a secret, everyone is let in who can connect
  std::optional<TlsIdentity> tls = {};  // TCP is encrypted, and certificates prove who belongs to the job

  // HOCKET_SECRET, or what the file HOCKET_SECRET_FILE holds, HOCKET_INSECURE and the variables of TLS.
  // Code::invalid_environment where one of them is not possible, and what it should be.
  static Result<Trust> from_environment();
};

// Code::invalid_argument where it is too short or too long; `source` names it.
Status check_secret(std::string_view secret, std::string_view source);
// One that nobody can guess, in printable characters.
std::string random_secret();
std::string hexadecimal(std::string_view bytes);

// What an error tells where hosts need a secret and there is none.
inline constexpr std::string_view how_to_be_trusted =
    "set HOCKET_SECRET to one random text on all ranks (`openssl rand -hex 32` makes one), or HOCKET_SECRET_FILE to a "
    "file that holds it and that only its owner can read; HOCKET_INSECURE=1 on all ranks lets everyone in who can "
    "reach the ports; HOCKET_TLS_CERT, HOCKET_TLS_KEY and HOCKET_TLS_CA do it by certificates";

}  // namespace hocket
