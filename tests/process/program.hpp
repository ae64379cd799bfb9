// Runs one of our programs as a person does, and keeps what it said.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/slowness.hpp"

namespace hocket {

// Programs and tests lie in one folder.
inline std::string program_path(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

// A folder that is removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hocket-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

struct Ran {
  int status = -1;  // as the shell says it: 128 + signal if a signal ended the program; 124: it did not end by itself
  std::string out, error;
};

// `command` is for the shell; "$RUN", "$BENCH", "$SGD" and "$PLAN" are hocket-run, hocket-bench, hocket-sgd and
// hocket-plan. Whoever has not ended after `limit_s` is ended.
inline Ran run_command(const std::string& command, int limit_s = 100) {
  const TemporaryFolder folder;
  {
    std::ofstream builder(folder.file("builder"));
    builder << "RUN='" << program_path("hocket-run") << "'\nBENCH='" << program_path("hocket-bench") << "'\nSGD='"
            << program_path("hocket-sgd") << "'\nPLAN='" << program_path("hocket-plan") << "'\n"
            << command << "\n";
  }
  const std::string whole = "timeout -k 10 " + std::to_string(limit_s * sanitizer_slowness) + " sh '" +
                            folder.file("builder") + "' > '" + folder.file("out") + "' 2> '" + folder.file("error") +
                            "'";
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(folder.file("out")),
          contents(folder.file("error"))};
}

}  // namespace hocket
