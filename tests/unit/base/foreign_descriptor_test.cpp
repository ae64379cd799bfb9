// Descriptors of other processes can be had while these live and have them.
#include "src/base/foreign_descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace hocket {
namespace {

TEST(ForeignDescriptor, IsTheSameFile) {
  if (!may_fetch_descriptors()) GTEST_SKIP() << "this sandbox does not allow it";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out(ends[1]);
  const int in = ends[0];
  const pid_t child = ::fork();  // which has the end that is read, and nobody else
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  ::close(in);
  auto fetched = fetch_descriptor(child, in);
  ASSERT_TRUE(fetched.ok()) << fetched.status().message();
  EXPECT_EQ(fetch_descriptor(child, 1000).status().code(), Code::invalid_argument);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(fetch_descriptor(child, in).status().code(), Code::peer_lost);
  char found = 0;
  ASSERT_EQ(::write(out.get(), "x", 1), 1);
  ASSERT_EQ(::read(fetched->get(), &found, 1), 1) << "it lasts longer than its owner";
  EXPECT_EQ(found, 'x');
}

}  // namespace
}  // namespace hocket
