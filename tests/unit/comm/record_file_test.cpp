#include "src/comm/record_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/process/program.hpp"

namespace hocket::comm {
namespace {

// Another user, who may write to the folder, too, lays a link where the record is to be written.
TEST(RecordFile, FollowsNoLinkThatOthersHaveLaid) {
  const TemporaryFolder folder;
  const std::string file = folder.file("record"), precious = folder.file("precious");
  std::ofstream(precious) << "mine";
  for (const std::string& name : {file, file + "." + std::to_string(::getpid()) + ".unfinished"}) {
    std::filesystem::create_symlink(precious, name);
  }
  const RecordFile records(Options{}, 7, {});
  Recording recording;
  recording.communicators.emplace_back();
  const Status written = records.write_to(file, recording, RecordReason::request);
  ASSERT_TRUE(written.ok()) << written.message();
  EXPECT_EQ(contents(precious), "mine");
  EXPECT_EQ(contents(file).substr(0, 1), "{");
  EXPECT_FALSE(std::filesystem::is_symlink(file));
}

}  // namespace
}  // namespace hocket::comm
