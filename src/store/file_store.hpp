// A store in a file, for ranks on one host or on a file system that they share (one with flock). Nobody serves it.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>

#include "src/base/fd.hpp"
#include "src/spi/store.hpp"
#include "src/store/dictionary.hpp"

namespace hocket {

// The file holds every change ever made (src/store/record.hpp) and is never removed: use a new path for every job.
// get() polls, every 20 ms at the slowest. Any number of processes, each with an object of its own (not one inherited
// over fork).
class FileStore final : public Store {
 public:
  // Makes the file where there is none. Errors: invalid_environment where it cannot be opened, say because its
  // directory does not exist, or is no regular file; store_unreachable where the disk fails; out_of_resources;
  // protocol_error where it is no store file (it is left as it is); timeout where others keep it locked; aborted when
  // `stop` is requested.
  static Result<std::unique_ptr<FileStore>> open(const std::string& path, Deadline deadline,
                                                 const std::stop_token& stop = {});

  Status confidential() const override;
  std::string url() const override { return "file://" + path_; }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override;
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override;
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override;
  Result<bool> remove(std::string_view key, Deadline deadline) override;
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override;

 private:
  FileStore(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  // While it lives: this thread alone uses the object, and the file is locked.
  class Guard;
  enum class Access { read, write };
  // With what the file holds now in dictionary_.
  Result<Guard> lock(Access access, std::string_view call, std::string_view key, Deadline deadline);
  // Applies `change` to dictionary_ and then to the file: to both or to none.
  template <class Change>
  auto alter(std::string_view call, std::string_view key, Deadline deadline, Change change)
      -> decltype(change(std::declval<store::Dictionary&>()));
  Status refresh(Access access);
  Status write_header(std::size_t size);
  Status read_records(std::size_t size);
  Status append(std::string_view key, const store::Dictionary::Value& value);
  Status write_at(std::size_t offset, std::string_view bytes);
  Status broken(std::string_view what) const;

  const std::string path_;
  const UniqueFd file_;
  std::mutex mutex_;  // guards all below; held with the file's lock, never while waiting
  store::Dictionary dictionary_;
  std::size_t read_ = 0;  // how much of the file is in dictionary_
  // Who had the lock leaves it alone for as long, or a busy process would keep it from those who poll for it.
  Deadline::Clock::time_point others_first_until_{};
};

}  // namespace hocket
