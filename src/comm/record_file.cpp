#include "src/comm/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "src/base/environment.hpp"
#include "src/base/fd.hpp"
#include "src/base/log.hpp"
#include "src/base/random.hpp"
#include "src/base/write_all.hpp"
#include "src/comm/report_text.hpp"
#include "src/spi/store.hpp"

namespace hocket::comm {
namespace {

constexpr std::int64_t steps_max = 10'000'000;

// Names of communicators may hold anything.
std::string as_file_name(std::string_view name) {
  std::string safe(name);
  for (char& letter : safe) {
    const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_';
    if (!plain) letter = '_';
  }
  return safe.substr(0, 100);
}

}  // namespace

Result<RecordSettings> RecordSettings::from_environment() {
  RecordSettings settings;
  if (const auto folder = environment::find({"HOCKET_RECORD_DIR"})) {
    settings.folder = folder->value;
    std::error_code error;
    std::filesystem::create_directories(settings.folder, error);
    if (error || ::access(settings.folder.c_str(), W_OK | X_OK) != 0) {
      return Status(Code::invalid_environment,
                    fmt::format("HOCKET_RECORD_DIR is \"{}\", where no files can be made: {}", settings.folder,
                                error ? error.message() : std::strerror(errno)));
    }
  }
  if (const auto signal = environment::find({"HOCKET_RECORD_SIGNAL"}); signal && signal->value != "none") {
    if (signal->value != "USR1" && signal->value != "USR2") {
      return Status(Code::invalid_environment,
                    fmt::format("HOCKET_RECORD_SIGNAL is \"{}\"; set it to USR1, USR2 or none", signal->value));
    }
    settings.signal = signal->value == "USR1" ? SIGUSR1 : SIGUSR2;
  }
  if (const auto at_end = environment::find({"HOCKET_RECORD_AT_END"})) {
    const auto on = environment::to_switch(*at_end);
    if (!on.ok()) return on.status();
    settings.at_end = *on;
  }
  if (const auto steps = environment::find({"HOCKET_RECORD_STEPS"})) {
    const auto number = environment::to_integer(*steps, 0, steps_max);
    if (!number.ok()) return number.status();
    settings.steps = static_cast<std::size_t>(*number);
  }
  if (const auto reports = environment::find({"HOCKET_REPORT"})) {
    const auto on = environment::to_switch(*reports);
    if (!on.ok()) return on.status();
    settings.reports = *on;
  }
  if (settings.folder.empty() && (settings.signal || settings.at_end)) {
    return Status(Code::invalid_environment,
                  fmt::format("{} is set, but HOCKET_RECORD_DIR does not say where records are to be written",
                              settings.signal ? "HOCKET_RECORD_SIGNAL" : "HOCKET_RECORD_AT_END"));
  }
  return settings;
}

RecordFile::RecordFile(const Options& options, std::uint64_t group, RecordSettings settings)
    : settings_(std::move(settings)), name_(options.name), rank_(options.rank), size_(options.size), group_(group) {}

void RecordFile::set_peers(const std::vector<PeerInfo>& peers) {
  const std::lock_guard lock(mutex_);
  processes_.clear();
  for (const PeerInfo& peer : peers) processes_.push_back(peer.process.serialise());
}

Status RecordFile::write(const Recording& recording, RecordReason reason) const {
  if (settings_.folder.empty()) return {};
  const std::string file =
      fmt::format("{}/{}.{:016x}.rank{}.json", settings_.folder, as_file_name(name_), group_, rank_);
  const Status written = write_to(file, recording, reason);
  if (!written.ok()) log::warn(written.message());
  return written;
}

// Others may write to the folder, too: so nobody knows the unfinished file's name before, and no link is followed.
Status RecordFile::write_to(const std::string& file, const Recording& recording, RecordReason reason) const {
  const std::string text = record_text(owner(), recording, reason);
  const std::string unfinished = fmt::format("{}.{:016x}.unfinished", file, random_number());
  UniqueFd opened(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  const bool made = static_cast<bool>(opened);
  int error = made ? write_all(opened.get(), text) : errno;
  // Some file systems tell only now that there was no room.
  if (made && ::close(opened.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(unfinished.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return {};
  if (made) ::unlink(unfinished.c_str());
  return {Code::invalid_argument,
          fmt::format("the record of rank {} could not be written to {}: {}", rank_, file, std::strerror(error))};
}

std::string RecordFile::text_for_store(Recording recording) const {
  recording.steps.clear();
  for (;;) {
    std::string text = record_text(owner(), recording, RecordReason::request);
    if (text.size() <= store_value_bytes_max || recording.operations.empty()) return text;
    const auto half = static_cast<std::ptrdiff_t>((recording.operations.size() + 1) / 2);
    recording.operations.erase(recording.operations.begin(), recording.operations.begin() + half);
  }
}

std::string RecordFile::report(const std::string& job, const Recording& recording) const {
  return report_text(job, owner(), recording);
}

RecordOwner RecordFile::owner() const {
  const std::lock_guard lock(mutex_);
  return {.name = name_, .group = group_, .rank = rank_, .size = size_, .processes = processes_};
}

}  // namespace hocket::comm
