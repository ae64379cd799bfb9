// The file from which a store's server goes on: what an earlier one has written, or a disk has damaged.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/fd.hpp"
#include "src/store/record.hpp"
#include "src/store/snapshot.hpp"
#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {
namespace {

using store::Dictionary;

constexpr store::DictionaryLimits limits{.keys = 8, .bytes = 4096};

Status load(std::string_view bytes, Dictionary& dictionary) {
  const UniqueFd file(::memfd_create("snapshot", MFD_CLOEXEC));
  require(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return store::load_snapshot(fmt::format("/proc/self/fd/{}", file.get()), dictionary);
}

std::string snapshot_of(const Dictionary& dictionary) {
  std::string bytes(store::file_header);
  dictionary.for_each(
      [&](std::string_view key, const std::string& value) { bytes += store::encode_record(key, value); });
  return bytes;
}

// What was loaded is whole, within the limits, and the same after it was written and loaded again.
bool run(std::string_view input) {
  Dictionary dictionary(limits);
  const Status loaded = load(input, dictionary);
  require(dictionary.size() <= limits.keys && dictionary.bytes() <= limits.bytes);
  if (!loaded.ok()) {
    require_printable(loaded.message());
    return false;
  }
  Dictionary again(limits);
  const std::string bytes = snapshot_of(dictionary);
  require(load(bytes, again).ok() && snapshot_of(again) == bytes);
  return true;
}

std::vector<std::string> seeds() {
  const std::string header(store::file_header);
  const std::string one = header + store::encode_record("job/1/group", "4711");
  return {header, one, one + store::encode_record("a", "") + store::encode_record("job/1/group", "4712")};
}

}  // namespace

const Target store_snapshots{"store_snapshots", run, seeds};

}  // namespace hocket::fuzz
