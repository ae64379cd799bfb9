// Memory that other processes can open by a handle while its owner lives and keeps it.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "src/base/fd.hpp"
#include "src/base/foreign_descriptor.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::testing_support {

struct SharedFileHandle {
  int process = 0, file = 0;
  std::uint64_t number = 0;
  int gpu = 0;
};

// Numbers of all that this process shares, never the same twice.
inline std::uint64_t next_shared_number() {
  static std::atomic<std::uint64_t> latest{0};
  return ++latest;
}

inline std::string shared_file_name(int process, std::uint64_t number) {
  return fmt::format("hocket-gpu-{}-{}", process, number);
}

inline Result<UniqueFd> make_shared_file(std::uint64_t number, std::size_t bytes) {
  UniqueFd file(::memfd_create(shared_file_name(::getpid(), number).c_str(), MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return Status(Code::out_of_resources, "there is no memory for a memfd");
  }
  return file;
}

inline Result<std::byte*> map_shared_file(const UniqueFd& file, std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return Status(Code::out_of_resources, "there is no address space for a memfd");
  return static_cast<std::byte*>(memory);
}

inline GpuHandle handle_of(const UniqueFd& file, std::uint64_t number, int gpu) {
  const SharedFileHandle names{::getpid(), file.get(), number, gpu};
  GpuHandle handle{};
  std::memcpy(handle.data(), &names, sizeof names);
  return handle;
}

// Code::invalid_argument where its owner has ended or closed it; the descriptor may be another file's by then.
// `by_descriptor`: as whoever is not shown files of others has to.
inline Result<UniqueFd> open_shared_file(const GpuHandle& handle, bool by_descriptor) {
  SharedFileHandle names;
  std::memcpy(&names, handle.data(), sizeof names);
  const std::string path = fmt::format("/proc/{}/fd/{}", names.process, names.file);
  UniqueFd file;
  if (!by_descriptor) {
    file = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  } else if (auto fetched = fetch_descriptor(names.process, names.file); fetched.ok()) {
    file = std::move(*fetched);
  }
  const std::string own_path = fmt::format("/proc/self/fd/{}", file.get());
  std::array<char, 128> target{};
  const bool known = file && ::readlink(own_path.c_str(), target.data(), target.size() - 1) > 0;
  if (!known ||
      std::string(target.data()) != "/memfd:" + shared_file_name(names.process, names.number) + " (deleted)") {
    return Status(Code::invalid_argument, "what the handle names is no more: its owner has ended or freed it");
  }
  return file;
}

}  // namespace hocket::testing_support
