// hocket-sgd: teaches a small network to read digits, by synchronous data-parallel SGD over Hocket, and proves what a
// ring allreduce costs. An example of how the C++ interface is used: it knows hocket.hpp alone.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>

#include "hocket/hocket.hpp"
#include "tools/progress.hpp"
#include "tools/sgd/options.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/training.hpp"

namespace hocket::sgd {
namespace {

int complain(const std::string& sentence, int exit_status) {
  fmt::print(stderr, "hocket-sgd: {}\n", sentence);
  return exit_status;
}

// Whether somebody has started this process as one rank of several.
bool is_launched() {
  for (const char* name : {"HOCKET_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

hocket::Options communicator_options(const Options& options) {
  hocket::Options given;
  if (!is_launched()) given.world_size = 1;
  given.transport = options.transport;
  given.algorithm = options.algorithm;
  return given;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.2f}", seconds * 1e3);
}

void print_epoch(const Epoch& epoch) {
  fmt::print(
      "epoch {}: loss {:.6f}, accuracy {:.2f} %, rate {:.4g}; a step took {} ms: {} compute, {} wait, {} update\n",
      epoch.number, epoch.loss, epoch.accuracy * 100, epoch.rate, milliseconds(epoch.times.total()),
      milliseconds(epoch.times.compute), milliseconds(epoch.times.wait), milliseconds(epoch.times.update));
  std::fflush(stdout);
}

nlohmann::json to_json(const Trained& trained, int ranks) {
  nlohmann::json epochs = nlohmann::json::array();
  for (const Epoch& epoch : trained.epochs) {
    epochs.push_back({{"epoch", epoch.number},
                      {"steps", epoch.steps},
                      {"loss", epoch.loss},
                      {"accuracy", epoch.accuracy},
                      {"rate", epoch.rate},
                      {"compute_seconds", epoch.times.compute},
                      {"wait_seconds", epoch.times.wait},
                      {"update_seconds", epoch.times.update}});
  }
  return {{"ranks", ranks},
          {"parameters", trained.parameters},
          {"buckets", trained.buckets},
          {"weights_hash", fmt::format("{:016x}", trained.hash)},
          {"epochs", epochs}};
}

void write_file(const std::string& name, const std::string& text) {
  if (name == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(name);
  file << text;
  file.close();
  if (!file) throw Problem(fmt::format("Cannot write {}.", name));
}

int run_training(const Options& options, Communicator& comm) {
  const Data data = load(options, comm);
  const bool speaks = comm.rank() == 0 && options.json_file != "-";
  Progress progress;
  Listener listener;
  listener.step = [&](std::size_t epoch, std::size_t step, std::size_t steps) {
    progress.set_subject(fmt::format("epoch {}", epoch));
    progress.show("step", step, steps);
  };
  listener.epoch = [&](const Epoch& epoch) {
    progress.clear();
    if (speaks) print_epoch(epoch);
  };
  if (speaks) {
    fmt::print("{} rank{}, {} {} training pictures, {} test pictures\n", comm.size(), comm.size() == 1 ? "" : "s",
               data.training.size(), options.training.folder.empty() ? "drawn" : "MNIST", data.test.size());
  }
  const Trained trained = train(options.training, comm, data, listener);
  if (comm.rank() == 0 && !options.json_file.empty()) {
    write_file(options.json_file, to_json(trained, comm.size()).dump(2) + "\n");
  }
  if (speaks) {
    fmt::print("{} weights, hash {:016x} on {} rank{}\n", trained.parameters, trained.hash,
               comm.size() == 1 ? "the only" : fmt::format("all {}", comm.size()), comm.size() == 1 ? "" : "s");
  }
  comm.barrier();  // a launcher ends everybody when one rank fails: no one leaves before rank 0 has written
  return 0;
}

int run(int argc, char** argv) {
  const Parsed parsed = parse_options(argc, argv);
  if (!parsed.options) {
    fmt::print(parsed.exit_status == 0 ? stdout : stderr, "{}", parsed.text);
    return parsed.exit_status;
  }
  try {
    Communicator comm = Communicator::create(communicator_options(*parsed.options));
    return run_training(*parsed.options, comm);
  } catch (const Error& error) {
    return complain(error.what(), exit_communication);
  } catch (const Problem& problem) {
    return complain(problem.what(), exit_usage);
  } catch (const std::bad_alloc&) {
    return complain("There is no memory for the network.", exit_communication);
  }
}

}  // namespace
}  // namespace hocket::sgd

int main(int argc, char** argv) {
  return hocket::sgd::run(argc, argv);
}
