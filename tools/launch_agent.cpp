#include "tools/launch_agent.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "hocket/hocket.h"
#include "tools/launch_agent_input.hpp"
#include "tools/launch_job.hpp"
#include "tools/launch_local.hpp"
#include "tools/launch_loop.hpp"

namespace hocket::launch {
namespace {

constexpr int exit_lost = 255;  // as ssh does
constexpr int exit_unusable = 126;

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void greet() {
  std::string client = "-", server = "-", ignored;
  if (const char* connection = ::getenv("SSH_CONNECTION")) {  // "client port server port"
    std::istringstream words(connection);
    words >> client >> ignored >> server;
  }
  const auto port = free_port();
  say(fmt::format("{}{} {} {} {}", agent_greeting, hocket_version(), client, server, port ? *port : 0));
}

void set_variables(const Job& job) {
  // What this host's own settings say of these would contradict the launch.
  for (const char* name : {"HOCKET_SECRET", "HOCKET_SECRET_FILE", "HOCKET_INSECURE", "HOCKET_STORE"}) ::unsetenv(name);
  for (const std::string& variable : job.variables) {
    const std::size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
}

}  // namespace

int run_agent(std::chrono::milliseconds silence) {
  const Signals signals;
  Relays relays;
  AgentInput input(STDIN_FILENO, silence);
  greet();
  const auto message = input.job();
  if (!message) return exit_lost;
  const auto job = decode(*message);
  if (!job) {
    say(fmt::format("x{} The job cannot be read: {}", exit_unusable, job.status().message()));
    return exit_unusable;
  }
  if (::chdir(job->folder.c_str()) != 0) {
    say(fmt::format("x{} Cannot enter the working directory '{}': {}. Start from one that all hosts have.",
                    exit_unusable, job->folder, strerror(errno)));
    return exit_unusable;
  }
  set_variables(*job);
  Options options;
  options.command = job->command;
  options.output = job->labelled ? Output::labelled : Output::whole;
  options.binding = job->binding;
  options.shared_heap = job->shared_heap;
  options.grace = job->grace;
  LocalRanks ranks(options, relays, job->place);
  return Launch(options, signals, relays, ranks, &input).run();
}

}  // namespace hocket::launch
