#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "src/store/file_store.hpp"
#include "tests/conformance/store_meeting_suite.hpp"

namespace hocket {
namespace {

struct FileBackend {
  FileBackend() {
    std::string name = std::filesystem::temp_directory_path() / "hocket-store-XXXXXX";
    directory = ::mkdtemp(name.data());
    for (auto* store : {&one, &two}) {
      auto opened = FileStore::open(directory / "store", generous());
      if (!opened) throw std::runtime_error(opened.status().message());
      *store = std::move(*opened);
    }
  }
  ~FileBackend() { std::filesystem::remove_all(directory); }

  Store& first() { return *one; }
  Store& second() { return *two; }

  std::filesystem::path directory;
  std::unique_ptr<FileStore> one, two;
};
INSTANTIATE_TYPED_TEST_SUITE_P(File, StoreSuite, FileBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(File, StoreMeetingSuite, FileBackend);

}  // namespace
}  // namespace hocket
