#include "tools/sgd/loading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>

#include "tools/sgd/hash.hpp"
#include "tools/sgd/problem.hpp"

namespace hocket::sgd {
namespace {

constexpr std::size_t sentence_bytes_max = 1024;

}  // namespace

std::vector<std::uint64_t> on_all(Communicator& comm, std::uint64_t value) {
  const std::uint64_t own[] = {value};
  std::vector<std::uint64_t> all(static_cast<std::size_t>(comm.size()));
  comm.allgather(std::span(own), all);
  return all;
}

int first_to_differ(const std::vector<std::uint64_t>& values) {
  const auto other = std::ranges::find_if(values, [&](std::uint64_t one) { return one != values.front(); });
  return other == values.end() ? -1 : static_cast<int>(other - values.begin());
}

std::uint64_t fingerprint(const Training& training, const Data& data) {
  const std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", training.seed,
                  static_cast<int>(training.network), fmt::join(training.hidden, ","), training.epochs, training.steps,
                  training.batch, training.batch_per_rank, training.base_batch, training.rate, training.warmup_epochs,
                  training.rule.momentum, training.rule.weight_decay, training.rule.lars, training.rule.trust,
                  static_cast<int>(training.combine), training.bucket_mb, static_cast<int>(training.departure));
  const std::uint64_t parts[] = {fingerprint(data.training), fingerprint(data.test)};
  return Hash().add(std::span<const std::uint64_t>(parts)).add(std::span<const char>(text)).value();
}

Data load_alone(const Training& training) {
  if (!training.folder.empty()) {
    Data data{read_mnist(training.folder, Part::training), read_mnist(training.folder, Part::test)};
    if (data.training.rows != data.test.rows || data.training.columns != data.test.columns) {
      throw Problem(fmt::format("The training pictures in {} are of {} × {} pixels, but the test pictures of {} × {}.",
                                training.folder, data.training.rows, data.training.columns, data.test.rows,
                                data.test.columns));
    }
    return data;
  }
  const std::size_t tests = std::clamp<std::size_t>(training.drawn / 4, 1, 2048);
  return {draw_digits(training.drawn, training.seed), draw_digits(tests, training.seed + 1'000'003)};
}

Data load(const Options& options, Communicator& comm) {
  Data data;
  std::string problem;
  try {
    data = load_alone(options.training);
  } catch (const Problem& found) {
    problem = found.what();
  } catch (const std::bad_alloc&) {
    problem = "There is no memory for the data.";
  }
  // Ranks that could go on must not wait for one that cannot: they learn of it here.
  std::int32_t failed[] = {problem.empty() ? comm.size() : comm.rank()};
  comm.allreduce(std::span(failed), Op::min);
  if (failed[0] < comm.size()) {
    std::vector<std::uint8_t> text(problem.begin(), problem.end());
    text.resize(sentence_bytes_max - 1);
    text.push_back(0);
    comm.broadcast(text, failed[0]);
    throw Problem(fmt::format("Rank {}: {}", failed[0], reinterpret_cast<const char*>(text.data())));
  }
  if (const int other = first_to_differ(on_all(comm, fingerprint(options.training, data))); other >= 0) {
    throw Problem(
        fmt::format("Rank {} has different data or options from rank 0. Start all ranks with the same ones.", other));
  }
  return data;
}

}  // namespace hocket::sgd
