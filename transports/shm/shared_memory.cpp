#include "transports/shm/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/memory_left.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr unsigned no_exec_seal = 8;                              // MFD_NOEXEC_SEAL, which older headers lack
constexpr std::size_t worth_asking_bytes = std::size_t{1} << 20;  // whether memory is left takes some 50 µs
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

Status cannot(Code code, std::string_view what, const char* purpose, std::size_t bytes, std::string_view why) {
  return Status(code, fmt::format("cannot {} {} bytes of shared memory for {}: {}", what, bytes, purpose, why));
}

Status no_room(std::size_t bytes) {
  return Status(Code::out_of_resources, fmt::format("cannot map {} bytes of shared memory ({}); see `ulimit -v` and "
                                                    "vm.max_map_count",
                                                    bytes, std::strerror(errno)));
}

// Address space for `bytes`, which must be whole pages, at a multiple of `alignment`.
Result<Mapping> reserve(std::size_t bytes, std::size_t alignment = 1) {
  const std::size_t slack = alignment > 1 ? alignment : 0;
  void* const got = ::mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return no_room(bytes);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(got) % alignment;
  const std::size_t before = beyond == 0 ? 0 : alignment - beyond;
  std::byte* const at = static_cast<std::byte*>(got) + before;
  if (before > 0) ::munmap(got, before);
  if (slack > before) ::munmap(at + bytes, slack - before);
  return Mapping(at, bytes);
}

bool map_at(std::byte* at, int fd, std::uint64_t offset, std::size_t bytes) {
  return ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) !=
         MAP_FAILED;
}

}  // namespace

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<UniqueFd> create_memory(const char* purpose, std::size_t bytes, Commit commit) {
  rlimit file_size{};
  if (::getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < bytes) {  // the kernel would send SIGXFSZ
    return cannot(Code::out_of_resources, "create", purpose, bytes,
                  fmt::format("the limit of file sizes is {} bytes; raise `ulimit -f`", file_size.rlim_cur));
  }
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(::memfd_create("hocket", flags | no_exec_seal));
  if (!fd && errno == EINVAL) fd = UniqueFd(::memfd_create("hocket", flags));  // an older kernel
  if (!fd) {
    const bool limit = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    const char* const advice = errno == EMFILE ? "; raise `ulimit -n`" : "";
    return cannot(limit ? Code::out_of_resources : Code::unsupported, "create", purpose, bytes,
                  fmt::format("{}{}", std::strerror(errno), advice));
  }
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return cannot(Code::out_of_resources, "create", purpose, bytes, std::strerror(errno));
  }
  if (commit == Commit::now) {
    if (Status committed = commit_memory(purpose, fd.get(), 0, bytes); !committed.ok()) return committed;
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, size_seals | F_SEAL_SEAL) != 0) {
    return cannot(Code::unsupported, "seal", purpose, bytes, std::strerror(errno));
  }
  return fd;
}

Status check_room(const char* purpose, std::size_t bytes) {
  const auto shortage = bytes >= worth_asking_bytes ? memory_shortage(bytes) : std::nullopt;
  if (!shortage) return {};
  return cannot(Code::out_of_resources, "commit", purpose, bytes,
                fmt::format("{} leaves {} bytes", shortage->limit, shortage->left));
}

Status commit_memory(const char* purpose, int fd, std::size_t offset, std::size_t bytes) {
  if (Status room = check_room(purpose, bytes); !room.ok()) return room;
  int error = 0;
  do {
    error = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == 0) return {};
  return cannot(Code::out_of_resources, "commit", purpose, bytes, std::strerror(error));
}

Status check_memory(int fd, std::size_t bytes) {
  struct stat file {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && (seals & size_seals) == size_seals && ::fstat(fd, &file) == 0 &&
      static_cast<std::uint64_t>(file.st_size) >= bytes) {
    return {};
  }
  return Status(Code::protocol_error, "what it handed over is not sealed memory of the right size");
}

std::size_t page_bytes_of(int fd) {
  struct stat file {};
  const auto ordinary = static_cast<std::size_t>(::getpagesize());
  if (::fstat(fd, &file) != 0 || file.st_blksize <= 0) return ordinary;
  return std::max(ordinary, static_cast<std::size_t>(file.st_blksize));
}

Result<Mapping> map_memory(int fd, std::uint64_t offset, std::size_t bytes) {
  const std::size_t page = page_bytes_of(fd);  // the kernel maps whole ones, over whatever lies there
  const std::size_t whole = (bytes + page - 1) / page * page;
  auto area = reserve(whole, std::max(page, bytes >= huge_page_bytes ? huge_page_bytes : 1));
  if (!area) return area;
  if (!map_at(area->data(), fd, offset, whole)) return no_room(bytes);
  return area;
}

bool enter_pages(std::byte* at, std::size_t bytes) {
  constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, which older headers and kernels lack
  int result = 0;
  do {
    result = ::madvise(at, bytes, populate_write);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

Result<Mapping> map_ring(int fd, std::size_t front, std::size_t ring) {
  auto area = reserve(front + 2 * ring);
  if (!area) return area;
  std::byte* const at = area->data();
  if (!map_at(at, fd, 0, front + ring) || !map_at(at + front + ring, fd, front, ring)) {
    return no_room(front + 2 * ring);
  }
  return area;
}

}  // namespace hocket::shm
