// hocket-sgd: teaches a small network to read digits, by synchronous data-parallel SGD over Hocket, and proves what a
// ring allreduce costs. An example of how the C++ interface is used: as a user of the library it knows hocket.hpp
// alone.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>

#include "hocket/hocket.hpp"
#include "tools/arguments.hpp"
#include "tools/guarded_main.hpp"
#include "tools/launch.hpp"
#include "tools/progress.hpp"
#include "tools/sgd/elastic.hpp"
#include "tools/sgd/options.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/prove.hpp"
#include "tools/sgd/report.hpp"
#include "tools/sgd/training.hpp"

namespace hocket::sgd {
namespace {

int complain(const std::string& sentence, int exit_status) {
  fmt::print(stderr, "hocket-sgd: {}\n", sentence);
  return exit_status;
}

// The value of the first variable that is set, or null.
const char* first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return value;
  }
  return nullptr;
}
const char* launched_rank() {
  return first_set({"HOCKET_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
}
const char* launched_ranks() {
  return first_set({"HOCKET_WORLD_SIZE", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
}

// Whether somebody has started this process as one rank of several.
bool is_launched() {
  return launched_rank() != nullptr || launched_ranks() != nullptr;
}

hocket::Options communicator_options(const Options& options) {
  hocket::Options given;
  if (!is_launched()) given.world_size = 1;
  given.transport = options.transport;
  given.algorithm = options.algorithm;
  given.timeout = std::chrono::milliseconds(std::lround(options.timeout_seconds * 1000));
  return given;
}

// Starts this program again as the ranks.
int start_ranks(const Options& options, int argc, char** argv) {
  if (const auto ending = arguments::refuse_ranks_below_launcher("hocket-sgd")) return arguments::show(*ending);
  launch::Options launch;
  launch.caller = "hocket-sgd";
  launch.ranks = options.ranks;
  launch.output = launch::Output::progress;
  launch.command = launch::own_command(argc, argv);
  return launch::run(launch);
}

// Nothing where the loss is as one may expect. Guessing has the loss ln 10: a tenth for each of ten digits.
std::string judge(const Trained& trained) {
  const double loss = trained.epochs.back().loss, guessing = std::log(static_cast<double>(classes));
  if (!trained.finite) return "The loss has grown beyond all numbers: training diverges. Try a smaller --rate.";
  if (loss < 2 * guessing) return {};
  return fmt::format(
      "The loss has grown to {:.3g}, that of guessing is {:.3g}: training diverges. Try a smaller --rate.", loss,
      guessing);
}

// What rank 0 tells a person and writes.
class Teller {
 public:
  Teller(const Options& options, const Communicator& comm) : options_(options), comm_(comm) {}

  Listener listener() {
    return {.step =
                [this](std::size_t epoch, std::size_t step, std::size_t steps) {
                  progress_.set_subject(fmt::format("epoch {}", epoch));
                  progress_.show("step", step, steps);
                },
            .epoch = [this](const Epoch& epoch) { tell(epoch); },
            .change = [this](const Change& change) { tell(change); }};
  }
  void begin(const Data& data) {
    if (!speaks()) return;
    fmt::print("{} rank{}, {} {} training pictures, {} test pictures\n", comm_.size(), comm_.size() == 1 ? "" : "s",
               data.training.size(), options_.training.folder.empty() ? "drawn" : "MNIST", data.test.size());
    std::fflush(stdout);
  }
  void finish(const Trained& trained) {
    if (comm_.rank() == 0 && !options_.json_file.empty()) {
      write_file(options_.json_file, to_json(trained, comm_.size()));
    }
    if (speaks() && trained.finite) {
      fmt::print("{} weights, hash {:016x} on {} rank{}\n", trained.parameters, trained.hashes.front(),
                 comm_.size() == 1 ? "the only" : fmt::format("all {}", comm_.size()), comm_.size() == 1 ? "" : "s");
    }
    if (const std::string doubt = judge(trained); comm_.rank() == 0 && !doubt.empty()) complain(doubt, 0);
  }

 private:
  bool speaks() const { return comm_.rank() == 0 && options_.json_file != "-"; }
  template <class News>
  void tell(const News& news) {
    progress_.clear();
    if (speaks()) print(news);
  }

  const Options& options_;
  const Communicator& comm_;
  Progress progress_;
};

int run_training(const Options& options, Communicator& comm) {
  const Data data = load(options, comm);
  Teller teller(options, comm);
  teller.begin(data);
  const Trained trained = train(options.training, comm, data, teller.listener());
  teller.finish(trained);
  comm.barrier();  // a launcher ends everybody when one rank fails: no one leaves before rank 0 has written
  return trained.finite ? 0 : exit_failed;
}

int run_elastic(const Options& options) {
  if (!is_newcomer() && launched_rank() == nullptr) {
    throw Problem(
        "--elastic is for ranks that a launcher replaces: hocket-run --elastic MIN:MAX hocket-sgd --elastic.");
  }
  const Data data = load_alone(options.training);  // before others wait for this rank
  const hocket::Options given = communicator_options(options);
  const char* const ranks = launched_ranks();
  Communicator comm =
      assemble(is_newcomer() ? 0 : std::atoi(launched_rank()), ranks == nullptr ? 1 : std::atoi(ranks), given);
  Teller teller(options, comm);
  if (!is_newcomer()) teller.begin(data);
  const Trained trained = train_elastic(options.training, comm, given, data, teller.listener(),
                                        [&](const Trained& done) { teller.finish(done); });
  return trained.finite ? 0 : exit_failed;
}

int run(int argc, char** argv) {
  const Parsed parsed = parse_options(argc, argv);
  if (!parsed.options) {
    fmt::print(parsed.exit_status == 0 ? stdout : stderr, "{}", parsed.text);
    return parsed.exit_status;
  }
  const Options& options = *parsed.options;
  if (options.ranks > 0 && !options.proof) return start_ranks(options, argc, argv);
  try {
    if (options.proof && !is_launched()) return start_proof(*options.proof, argc, argv);
    if (options.elastic) return run_elastic(options);
    Communicator comm = Communicator::create(communicator_options(options));
    return options.proof ? run_proof(options, comm) : run_training(options, comm);
  } catch (const Error& error) {
    // What names a transport, an algorithm or a variable that is none; by an option or in the environment.
    const hocket_result why = error.result();
    const bool usage = why == HOCKET_NOT_FOUND || why == HOCKET_INVALID_ENVIRONMENT || why == HOCKET_INVALID_ARGUMENT ||
                       why == HOCKET_UNSUPPORTED;  // there is no GPU
    return complain(error.what(), usage ? exit_usage : exit_communication);
  } catch (const WeightsDiffer& difference) {
    return complain(difference.what(), exit_failed);
  } catch (const Problem& problem) {
    return complain(problem.what(), exit_usage);
  } catch (const std::bad_alloc&) {
    return complain("There is no memory for the data or the network.", exit_communication);
  }
}

}  // namespace
}  // namespace hocket::sgd

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-sgd", argc, argv, hocket::sgd::run);
}
