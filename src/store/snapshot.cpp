#include "src/store/snapshot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "src/base/fd.hpp"
#include "src/base/write_all.hpp"
#include "src/store/record.hpp"

namespace hocket::store {
namespace {

Status cannot(std::string_view what, const std::string& path, int error) {
  return {Code::invalid_environment,
          fmt::format("cannot {} the snapshot {}: {}; name a file in a folder that this user "
                      "may write to",
                      what, path, std::strerror(error))};
}

}  // namespace

Status save_snapshot(const std::string& path, const Dictionary& dictionary,
                     const std::function<bool(std::string_view key)>& leave_out) {
  const std::string beside = path + ".new";
  UniqueFd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return cannot("write", beside, errno);
  int error = write_all(file.get(), file_header);
  dictionary.for_each([&](std::string_view key, const std::string& value) {
    if (error == 0 && !leave_out(key)) error = write_all(file.get(), encode_record(key, value));
  });
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  (void)::unlink(beside.c_str());
  return cannot("write", path, error);
}

Status load_snapshot(const std::string& path, Dictionary& dictionary) {
  const auto broken = [&](std::string_view what) {
    return Status(Code::protocol_error, fmt::format("the snapshot {} {}; remove it, or name another file", path, what));
  };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return {};
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return cannot("read", path, errno);
  if (!S_ISREG(facts.st_mode)) return broken("is no regular file");
  std::string bytes;
  for (char block[65536];;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got < 0 && errno != EINTR) return cannot("read", path, errno);
    if (got == 0) break;
    if (got > 0) bytes.append(block, static_cast<std::size_t>(got));
  }
  if (!bytes.starts_with(file_header)) return broken("is none of Hocket's");
  for (std::string_view rest = std::string_view(bytes).substr(file_header.size()); !rest.empty();) {
    const auto record = parse_record(rest);
    if (!record || !*record || !(*record)->value) return broken("is damaged");
    if (Status status = dictionary.set((*record)->key, *(*record)->value); !status) return status;
    rest.remove_prefix((*record)->bytes);
  }
  return {};
}

}  // namespace hocket::store
