// What the system knows about processes: descriptors, threads, ports.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "src/base/file_contents.hpp"
#include "src/base/words.hpp"
#include "tests/process/support/connections.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

int entries_of(const char* directory) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

// A thread that has been joined stays in the list of threads for a moment.
bool is_ending(const std::filesystem::path& task) {
  constexpr unsigned long exiting = 4;              // PF_EXITING of Linux, include/linux/sched.h
  const auto facts = file_contents(task / "stat");  // proc(5)
  if (!facts) return true;
  Words fields(std::string_view(*facts).substr(facts->rfind(')') + 1));
  fields.skip(6);
  return (fields.number<unsigned long>() & exiting) != 0;
}

// By a name that the kernel gives to one socket at a time; empty where another one has it.
UniqueFd reserve(int port) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "hocket-test-port-" + std::to_string(port);
  std::ranges::copy(name, address.sun_path + 1);  // behind a zero: no file
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) socket.reset();
  return socket;
}

bool is_free(int port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

FreePort free_port() {
  constexpr int apart = 16;
  std::random_device random;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const int port = 20000 + apart * static_cast<int>(random() % (12000 / apart));
    UniqueFd reserved = reserve(port);
    if (reserved && is_free(port)) return {port, std::move(reserved)};
  }
  throw std::runtime_error("no free port");
}

int open_descriptors() {
  return entries_of("/proc/self/fd");
}

int running_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::count_if(begin(tasks), end(tasks), [](const auto& task) { return !is_ending(task); }));
}

bool falls_asleep(pid_t process) {
  constexpr int looks = 2000;
  constexpr std::chrono::milliseconds pause(10);
  // By thread: how often it has been put on a processor; nothing where one runs.
  const auto look = [&]() -> std::optional<std::map<std::string, std::string>> {
    std::map<std::string, std::string> threads;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      std::ifstream status(entry.path() / "status");
      std::string& counts = threads[entry.path().filename()];
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("State:") && line.find("S (sleeping)") == std::string::npos) return std::nullopt;
        if (line.find("voluntary_ctxt_switches") != std::string::npos) counts += line;
      }
    }
    return threads;
  };
  std::optional<std::map<std::string, std::string>> before;
  for (int i = 0; i < looks; ++i) {
    auto now = look();
    if (now && now == before) return true;
    before = std::move(now);
    std::this_thread::sleep_for(pause);
  }
  return false;
}

std::set<std::string> shared_memory_files() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    // address, permissions, offset, device, inode, name: proc(5).
    std::istringstream fields(line);
    std::string address, permissions, offset, device, inode, name;
    fields >> address >> permissions >> offset >> device >> inode >> name;
    if (name.starts_with("/memfd:")) files.insert(inode);
  }
  return files;
}

std::vector<int> listening_ports(pid_t process) {
  std::vector<int> ports;
  for (const TcpSocket& socket : tcp_sockets(process)) {
    if (socket.listens) ports.push_back(socket.local);
  }
  return ports;
}

}  // namespace hocket::process_testing
