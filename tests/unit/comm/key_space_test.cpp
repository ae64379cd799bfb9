// PMI, with a launcher that answers as it likes. Each rank is a process: it speaks to its launcher once in its life.
#include "src/comm/key_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "src/base/fd.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// What a rank says and how it ends, with the launcher's answers by the first word of a question; "": none.
struct Talk {
  std::vector<std::string> questions;
  std::string outcome;
};

Talk talk(Rank rank, const std::map<std::string, std::string>& answers, bool exits = true) {
  int ends[2], report[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_EQ(::pipe(report), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::setenv("PMI_FD", std::to_string(ends[1]).c_str(), 1);
    const auto heard = tell_all_by_pmi(rank, "the,words", Deadline::after(500ms), {});
    const std::string outcome = heard.ok() ? "heard " + *heard : "failed " + heard.status().message();
    (void)!::write(report[1], outcome.data(), outcome.size());
    if (exits) std::exit(0);
    ::_exit(0);
  }
  ::close(ends[1]);
  ::close(report[1]);
  const UniqueFd launcher(ends[0]), outcome(report[0]);
  Talk talk;
  std::string line;
  for (char next; ::read(launcher.get(), &next, 1) == 1;) {
    if (next != '\n') {
      line += next;
      continue;
    }
    const auto answer = answers.find(line.substr(0, line.find(' ')));
    talk.questions.push_back(std::exchange(line, ""));
    if (answer == answers.end() || answer->second.empty()) continue;
    (void)!::send(launcher.get(), answer->second.data(), answer->second.size(), MSG_NOSIGNAL);
  }
  char text[4096];
  for (ssize_t got; (got = ::read(outcome.get(), text, sizeof text)) > 0;) {
    talk.outcome.append(text, static_cast<std::size_t>(got));
  }
  ::waitpid(child, nullptr, 0);
  return talk;
}

std::map<std::string, std::string> good_answers() {
  return {{"cmd=init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
          {"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_7\n"},
          {"cmd=put", "cmd=put_result rc=0 msg=success\n"},
          {"cmd=barrier_in", "cmd=barrier_out\n"},
          {"cmd=get", "cmd=get_result rc=0 msg=success value=the,words\n"},
          {"cmd=finalize", "cmd=finalize_ack\n"}};
}

TEST(Pmi, Rank0PutsAndAllGetAndLeaveAtTheEnd) {
  const Talk of_0 = talk(0, good_answers());
  EXPECT_EQ(of_0.outcome, "heard the,words");
  EXPECT_THAT(of_0.questions,
              ElementsAre("cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_my_kvsname",
                          "cmd=put kvsname=kvs_7 key=hocket-meeting-point value=the,words", "cmd=barrier_in",
                          "cmd=get kvsname=kvs_7 key=hocket-meeting-point", "cmd=finalize"));
  const Talk of_1 = talk(1, good_answers());
  EXPECT_EQ(of_1.outcome, "heard the,words");
  EXPECT_EQ(of_1.questions.size(), 5U);
}

TEST(Pmi, OthersThatDoNotComeAreMissedAtTheDeadline) {
  auto answers = good_answers();
  answers["cmd=barrier_in"] = "";
  const Talk alone = talk(0, answers, false);
  EXPECT_THAT(alone.outcome, HasSubstr("failed not all ranks came to the launcher's barrier (PMI) in time"));
  EXPECT_THAT(alone.outcome, HasSubstr("MASTER_ADDR"));
}

TEST(Pmi, AnswersThatAreNoneAreErrors) {
  struct Wrong {
    const char *question, *answer, *message;
  };
  for (const Wrong& wrong :
       {Wrong{"cmd=init", "cmd=response_to_init rc=-1\n", "\"cmd=init\" with cmd=response_to_init and rc=-1;"},
        Wrong{"cmd=put", "cmd=put_result rc=-1 msg=full\n", "\"cmd=put\" with cmd=put_result and rc=-1;"},
        Wrong{"cmd=get", "HTTP/1.1 400 \x1b[1m\n", "\"cmd=get\" with no cmd and no rc;"},
        Wrong{"cmd=get", "cmd=\x1b[1m rc=0\n", "with cmd=\\x1b[1m and rc=0;"},
        Wrong{"cmd=get_my_kvsname", "", "does not answer in time"}}) {
    auto answers = good_answers();
    answers[wrong.question] = wrong.answer;
    const std::string outcome = talk(0, answers, false).outcome;
    EXPECT_THAT(outcome, HasSubstr(wrong.message)) << wrong.question;
    EXPECT_THAT(outcome, Not(HasSubstr("the,words"))) << "the job's secret is among them";
  }
  auto endless = good_answers();
  endless["cmd=init"] = std::string(10'000, 'x');
  EXPECT_THAT(talk(0, endless, false).outcome, HasSubstr("does not end"));
}

TEST(Pmi, NeedsASocketOfTheLaunchers) {
  ::setenv("PMI_FD", "0", 1);
  const auto heard = tell_all_by_pmi(0, "words", Deadline::after(500ms), {});
  ::unsetenv("PMI_FD");
  EXPECT_EQ(heard.status().code(), Code::invalid_environment);
  EXPECT_THAT(heard.status().message(), HasSubstr("PMI_FD is 0"));
}

TEST(KeySpace, IsThereForTheRankAndSizeThatTheLauncherHasGiven) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"PMI_FD", "9"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "3"}})
    ::setenv(name.c_str(), value.c_str(), 1);
  EXPECT_EQ(key_space_of(1, 3), KeySpace::pmi);
  EXPECT_EQ(key_space_of(2, 3), KeySpace::none);
  EXPECT_EQ(key_space_of(1, 2), KeySpace::none) << "not all processes of the launch would come";
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(name);
}

}  // namespace
}  // namespace hocket::comm
