#include "src/store/file_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "src/base/trust.hpp"
#include "src/store/backoff.hpp"
#include "src/store/keys.hpp"
#include "src/store/record.hpp"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using store::Backoff;
using store::Dictionary;

constexpr auto longest_wait_for_lock = 2ms;
constexpr auto brief = 50us;
constexpr auto look_up_every = 100ms;  // while waiting for others: has the caller given up

// Whether another attempt may do better although nobody changes anything.
bool may_pass(int error) {
  constexpr int passing[] = {EINTR, EIO, ESTALE, EAGAIN, ETIMEDOUT, ENOTCONN, ESHUTDOWN, EHOSTDOWN, ENETDOWN, ENOLCK};
  return std::ranges::find(passing, error) != std::end(passing);
}

Status cannot_open(const std::string& path, int error) {
  const std::string directory = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  std::string why = std::strerror(error);
  if (error == ENOENT) why = fmt::format("the directory {} does not exist; make it first", directory);
  if (error == EACCES) why = "permission denied; check the rights of the file and of its directory";
  if (error == EISDIR) why = "it is a directory; name a file in it";
  if (error == EMFILE || error == ENFILE) why = "no file descriptor is left; raise the limit (ulimit -n)";
  const bool lacks = error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == EDQUOT;
  return {lacks             ? Code::out_of_resources
          : may_pass(error) ? Code::store_unreachable
                            : Code::invalid_environment,
          fmt::format("cannot open the store file {}: {}", path, why)};
}

// Before it is opened, which does something to some devices.
Status check_kind(const std::string& path, const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return {};
  if (S_ISDIR(facts.st_mode)) return cannot_open(path, EISDIR);
  return {Code::invalid_environment,
          fmt::format("cannot open the store file {}: it is no regular file; name another path", path)};
}

}  // namespace

class FileStore::Guard {
 public:
  Guard(FileStore& store, std::unique_lock<std::mutex> lock) : store_(&store), lock_(std::move(lock)) {}
  Guard(Guard&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)), lock_(std::move(other.lock_)), since_(other.since_) {}
  Guard& operator=(Guard&&) = delete;
  ~Guard() {
    if (store_ == nullptr) return;
    ::flock(store_->file_.get(), LOCK_UN);
    const auto now = Deadline::Clock::now();
    store_->others_first_until_ = now + (now - since_);
  }

 private:
  FileStore* store_;
  std::unique_lock<std::mutex> lock_;
  Deadline::Clock::time_point since_ = Deadline::Clock::now();
};

Result<std::unique_ptr<FileStore>> FileStore::open(const std::string& path, Deadline deadline,
                                                   const std::stop_token& stop) {
  struct stat facts {};
  const bool there = ::stat(path.c_str(), &facts) == 0;
  if (Status sound = there ? check_kind(path, facts) : Status(); !sound.ok()) return sound;
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
  if (!file || ::fstat(file.get(), &facts) != 0) return cannot_open(path, errno);
  if (Status sound = check_kind(path, facts); !sound.ok()) return sound;
  std::unique_ptr<FileStore> opened(new FileStore(path, std::move(file)));
  for (;;) {  // others may hold it for long: one of them may be stopped
    const auto guard = opened->lock(Access::write, "open", path, earlier(deadline, Deadline::after(look_up_every)));
    if (guard) return opened;
    if (guard.status().code() != Code::timeout || deadline.passed()) return guard.status();
    if (stop.stop_requested()) return Status(Code::aborted, "waiting for the store file " + path + " was given up");
  }
}

Status FileStore::confidential() const {
  struct stat facts {};
  const bool known = ::fstat(file_.get(), &facts) == 0;
  // Root may open what belongs to anybody. Anybody else who could open what only its owner may is that owner, whom the
  // file system may call by another number.
  const bool own = known && (facts.st_uid == ::geteuid() || ::geteuid() != 0);
  if (own && (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return {Code::invalid_environment, fmt::format("{} may use the store file {}: {}, or {}",
                                                 own ? "others than its owner" : "another user, to whom it belongs,",
                                                 path_, own ? "`chmod 600` it" : "name another", how_to_be_trusted)};
}

Status FileStore::set(std::string_view key, std::string_view value, Deadline deadline) {
  return alter("set", key, deadline,
               [&](Dictionary& dictionary) -> Result<bool> {
                 if (Status status = dictionary.set(key, value); !status) return status;
                 return true;
               })
      .status();
}

Result<std::string> FileStore::get(std::string_view key, Deadline deadline) {
  const auto began = Deadline::Clock::now();
  for (Backoff backoff(deadline, store::longest_wait_for_key);; backoff.sleep()) {
    const auto found = peek(key, deadline);
    if (found && *found) return **found;
    if (deadline.passed() && (found || found.status().code() == Code::timeout)) {
      return store::get_timed_out(key, url(), began);
    }
    if (!found) return found.status();
  }
}

Result<std::optional<std::string>> FileStore::peek(std::string_view key, Deadline deadline) {
  const auto guard = lock(Access::read, "peek", key, deadline);
  if (!guard) return guard.status();
  const auto found = dictionary_.find(key);
  if (!found) return found.status();
  return *found ? std::optional<std::string>(**found) : std::nullopt;
}

Result<std::int64_t> FileStore::add(std::string_view key, std::int64_t delta, Deadline deadline) {
  return alter("add", key, deadline, [&](Dictionary& dictionary) { return dictionary.add(key, delta); });
}

Result<std::optional<std::string>> FileStore::compare_and_set(std::string_view key,
                                                              std::optional<std::string_view> expected,
                                                              std::string_view desired, Deadline deadline) {
  const auto before = alter("compare_and_set", key, deadline,
                            [&](Dictionary& dictionary) { return dictionary.compare_and_set(key, expected, desired); });
  if (!before) return before.status();
  return *before ? std::optional<std::string>(**before) : std::nullopt;
}

Result<bool> FileStore::remove(std::string_view key, Deadline deadline) {
  return alter("remove", key, deadline, [&](Dictionary& dictionary) { return dictionary.remove(key); });
}

Result<std::vector<std::string>> FileStore::list(std::string_view prefix, Deadline deadline) {
  const auto guard = lock(Access::read, "list", prefix, deadline);
  if (!guard) return guard.status();
  auto page = dictionary_.list(prefix);
  if (!page) return page.status();
  return std::move(page->keys);
}

Result<FileStore::Guard> FileStore::lock(Access access, std::string_view call, std::string_view key,
                                         Deadline deadline) {
  const int wanted = (access == Access::write ? LOCK_EX : LOCK_SH) | LOCK_NB;
  for (Backoff backoff(deadline, longest_wait_for_lock); !deadline.passed(); backoff.sleep()) {
    std::unique_lock lock(mutex_);
    if (others_first_until_ - Deadline::Clock::now() > brief) continue;
    if (::flock(file_.get(), wanted) == 0) {
      Guard guard(*this, std::move(lock));
      if (Status status = refresh(access); !status) return status;
      return guard;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Status(
          Code::store_unreachable,
          fmt::format("cannot lock the store file {}: {}; use a file system with flock", path_, std::strerror(errno)));
    }
  }
  return store::call_timed_out(call, key, url());
}

template <class Change>
auto FileStore::alter(std::string_view call, std::string_view key, Deadline deadline, Change change)
    -> decltype(change(std::declval<Dictionary&>())) {
  const auto guard = lock(Access::write, call, key, deadline);
  if (!guard) return guard.status();
  const auto before = dictionary_.find(key);
  if (!before) return before.status();
  auto result = change(dictionary_);
  if (!result) return result;
  const Dictionary::Value now = *dictionary_.find(key);
  if (now == *before) return result;  // the same object: nothing was changed
  Status status = append(key, now);
  if (status.ok()) return result;
  // What the dictionary held before obeys its bounds, so these cannot fail.
  if (*before) {
    (void)dictionary_.set(key, **before);
  } else {
    (void)dictionary_.remove(key);
  }
  return status;
}

Status FileStore::refresh(Access access) {
  struct stat facts {};
  if (::fstat(file_.get(), &facts) != 0) return cannot_open(path_, errno);
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (facts.st_nlink == 0) {
    return {Code::store_unreachable, fmt::format("the store file {} was deleted while it was in use", path_)};
  }
  if (size < read_) return broken("was cut while it was in use");
  if (read_ == 0 && access == Access::write && size < store::file_header.size()) return write_header(size);
  return size == read_ ? Status() : read_records(size);
}

// For a file that is new, or whose maker died while it wrote the header.
Status FileStore::write_header(std::size_t size) {
  std::string found(size, '\0');
  const ssize_t got = ::pread(file_.get(), found.data(), size, 0);
  if (got != static_cast<ssize_t>(size) || !store::file_header.starts_with(found)) return broken("is no store file");
  if (Status status = write_at(0, store::file_header); !status) return status;
  read_ = store::file_header.size();
  return {};
}

Status FileStore::read_records(std::size_t size) {
  constexpr std::size_t block_bytes = std::size_t{1} << 20;
  std::string bytes;
  for (std::size_t at = read_; at < size;) {
    const std::size_t had = bytes.size();
    bytes.resize(had + std::min(block_bytes, size - at));
    const ssize_t got = ::pread(file_.get(), bytes.data() + had, bytes.size() - had, static_cast<off_t>(at));
    if (got < 0 && errno != EINTR) {
      return {Code::store_unreachable, fmt::format("cannot read the store file {}: {}", path_, std::strerror(errno))};
    }
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
    at = at + (bytes.size() - had);
    std::size_t used = 0;
    if (read_ == 0) {
      const std::string_view start = std::string_view(bytes).substr(0, store::file_header.size());
      if (!store::file_header.starts_with(start)) return broken("is no store file");
      if (start.size() < store::file_header.size()) continue;
      read_ = used = store::file_header.size();
    }
    for (;;) {
      const auto record = store::parse_record(std::string_view(bytes).substr(used));
      if (!record) return broken(fmt::format("is damaged after {} bytes: {}", read_, record.status().message()));
      if (!*record) break;
      const auto& [key, value, record_bytes] = **record;
      if (value) {
        if (Status status = dictionary_.set(key, *value); !status) return broken(status.message());
      } else if (auto removed = dictionary_.remove(key); !removed) {
        return broken(removed.status().message());
      }
      used += record_bytes;
      read_ += record_bytes;
    }
    bytes.erase(0, used);
  }
  return {};
}

Status FileStore::append(std::string_view key, const Dictionary::Value& value) {
  const std::string record = store::encode_record(key, value ? std::optional<std::string_view>(*value) : std::nullopt);
  if (Status status = write_at(read_, record); !status) return status;
  read_ += record.size();
  return {};
}

// The file ends after `bytes` if this succeeds, and at `offset` if not.
Status FileStore::write_at(std::size_t offset, std::string_view bytes) {
  int error = ::ftruncate(file_.get(), static_cast<off_t>(offset)) == 0 ? 0 : errno;
  for (std::size_t done = 0; error == 0 && done < bytes.size();) {
    const ssize_t wrote =
        ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (wrote >= 0) done += static_cast<std::size_t>(wrote);
    if (wrote < 0 && errno != EINTR) error = errno;
  }
  if (error == 0) return {};
  (void)!::ftruncate(file_.get(), static_cast<off_t>(offset));  // else the next writer does it
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return {full              ? Code::out_of_resources
          : may_pass(error) ? Code::store_unreachable
                            : Code::invalid_environment,
          fmt::format("cannot write the store file {}: {}", path_, std::strerror(error))};
}

Status FileStore::broken(std::string_view what) const {
  return {Code::protocol_error,
          fmt::format("the store file {} {}; remove it if nobody needs it, or name another path", path_, what)};
}

}  // namespace hocket
