// Makes a system call do something else in this process from now on.
#pragma once

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace hocket::process_testing {

// `outcome`: a SECCOMP_RET_… value; only where the call's argument number `argument` is at least `least`.
inline void change_system_call(long number, std::uint32_t outcome, unsigned argument = 0, std::uint32_t least = 0) {
  const auto low_word = static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * argument);
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_word),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, least, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, outcome),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(steps), steps};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

}  // namespace hocket::process_testing
