#include "src/base/trust.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "src/base/environment.hpp"
#include "src/base/fd.hpp"
#include "src/base/random.hpp"

namespace hocket {
namespace {

constexpr std::size_t secret_bytes_min = 16;
constexpr std::size_t secret_bytes_max = 1024;

Status wrong_file(const std::string& path, std::string_view why) {
  return {Code::invalid_environment, fmt::format("HOCKET_SECRET_FILE is \"{}\", {}", path, why)};
}

Result<std::string> read_secret(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) {
    return wrong_file(path, fmt::format("which cannot be opened: {}", std::strerror(errno)));
  }
  if (!S_ISREG(facts.st_mode)) return wrong_file(path, "which is no regular file");
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0 || (facts.st_uid != ::geteuid() && facts.st_uid != 0)) {
    return wrong_file(path,
                      "which others than its owner may use, or which belongs to another user: chown it to this "
                      "user and `chmod 600` it");
  }
  std::array<char, secret_bytes_max + 2> bytes;  // a line of the longest secret, and one byte that shows it is longer
  std::size_t have = 0;
  for (ssize_t got = 1; got > 0 && have < bytes.size(); have += static_cast<std::size_t>(got)) {
    got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0) return wrong_file(path, fmt::format("which cannot be read: {}", std::strerror(errno)));
  }
  std::string secret(bytes.data(), have);
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  return secret;
}

}  // namespace

Status check_secret(std::string_view secret, std::string_view source) {
  if (secret.size() >= secret_bytes_min && secret.size() <= secret_bytes_max) return {};
  return {Code::invalid_argument,
          fmt::format("{} has {} characters; a secret has {} to {}: `openssl rand -hex 32` makes a good one", source,
                      secret.size(), secret_bytes_min, secret_bytes_max)};
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string random_secret() {
  std::array<char, 32> bytes;
  fill_randomly(bytes);
  return hexadecimal({bytes.data(), bytes.size()});
}

Result<Trust> Trust::from_environment() {
  Trust trust;
  const auto text = environment::find({"HOCKET_SECRET"});
  const auto file = environment::find({"HOCKET_SECRET_FILE"});
  if (text && file) {
    return Status(Code::invalid_environment,
                  "HOCKET_SECRET and HOCKET_SECRET_FILE are both set; leave one of them out");
  }
  if (text) trust.secret = text->value;
  if (file) {
    auto read = read_secret(file->value);
    if (!read.ok()) return read.status();
    trust.secret = std::move(*read);
  }
  if (text || file) {
    const Status fits = check_secret(trust.secret, text ? "HOCKET_SECRET" : "the file HOCKET_SECRET_FILE");
    if (!fits.ok()) return Status(Code::invalid_environment, fits.message());
  }
  if (const auto insecure = environment::find({"HOCKET_INSECURE"})) {
    const auto on = environment::to_switch(*insecure);
    if (!on.ok()) return on.status();
    trust.insecure = *on;
  }
  auto tls = TlsIdentity::from_environment();
  if (!tls.ok()) return tls.status();
  trust.tls = std::move(*tls);
  return trust;
}

}  // namespace hocket
