// Collectives of Gloo over its tcp transport on loopback, measured as hocket-bench measures its own. Starts its ranks.
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "bench/peers/forked_ranks.hpp"
#include "bench/peers/harness.hpp"
#include "bench/peers/semantics.hpp"

namespace {

using peers::Case;
using peers::Collective;
using peers::Operation;
using peers::SharedValues;

class Gloo : public peers::Peer {
 public:
  Gloo(int rank, const SharedValues& shared, const std::string& folder) : shared_(shared) {
    gloo::transport::tcp::attr attributes("127.0.0.1");
    device_ = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, shared.ranks());
    gloo::rendezvous::FileStore store(folder);
    context->connectFullMesh(store, device_);
    context_ = context;
  }

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }
  std::string version() const override {
    return "Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
           std::to_string(GLOO_VERSION_PATCH);
  }
  std::vector<std::string> algorithms(Collective collective) const override {
    if (collective == Collective::allreduce) return {"ring", "bcube", "halving_doubling", "ring_chunked"};
    if (collective == Collective::reduce_scatter) return {"halving_doubling"};
    if (find(collective) == nullptr) return {};
    return {"default"};
  }

  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void maximize(std::span<double> values) override {
    if (values.size() > SharedValues::most) throw std::runtime_error("Too many iterations; use at most 100000.");
    std::copy(values.begin(), values.end(), shared_.of(rank()).begin());
    barrier();
    for (int other = 0; other < size(); ++other) {
      const auto theirs = shared_.of(other);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], theirs[i]);
    }
    barrier();
  }

  Operation prepare(const Case& what) override {
    const Row* const row = find(what.collective);
    if (row == nullptr || (what.in_place && !row->in_place)) return {};
    return (this->*row->prepare)(what);
  }

 private:
  struct Row {
    Collective collective;
    Operation (Gloo::*prepare)(const Case&);
    bool in_place = true;  // whether Gloo can
  };
  // Null: Gloo has no such collective.
  static const Row* find(Collective collective) {
    static constexpr Row rows[] = {{Collective::allreduce, &Gloo::allreduce},
                                   {Collective::reduce_scatter, &Gloo::reduce_scatter},
                                   {Collective::reduce, &Gloo::reduce},
                                   {Collective::broadcast, &Gloo::broadcast},
                                   {Collective::allgather, &Gloo::allgather},
                                   {Collective::gather, &Gloo::gather, false},
                                   {Collective::scatter, &Gloo::scatter, false},
                                   {Collective::alltoall, &Gloo::alltoall, false},
                                   {Collective::allgather_v, &Gloo::allgather_v},
                                   {Collective::alltoall_v, &Gloo::alltoall_v, false},
                                   {Collective::sendrecv, &Gloo::sendrecv, false},
                                   {Collective::barrier, &Gloo::only_barrier}};
    const auto* const found = std::ranges::find(rows, collective, &Row::collective);
    return found == std::end(rows) ? nullptr : found;
  }

  Operation only_barrier(const Case&) {
    return {[this] { barrier(); }, nullptr, nullptr};
  }

  // The older algorithms work in place only: out of place, the input is copied first.
  Operation run_in_place(const Case& what, float* buffer, std::shared_ptr<gloo::Algorithm> algorithm) {
    const std::span<const float> input = what.first;
    if (what.in_place) return {[algorithm] { algorithm->run(); }, buffer, buffer};
    const auto run = [algorithm, input, buffer] {
      std::copy(input.begin(), input.end(), buffer);
      algorithm->run();
    };
    return {run, what.first.data(), buffer};
  }

  Operation allreduce(const Case& what) {
    float* const in = what.first.data();
    float* const out = what.in_place ? in : what.second.data();
    const int count = static_cast<int>(what.count);
    if (what.algorithm == "halving_doubling") {
      return run_in_place(
          what, out,
          std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context_, std::vector<float*>{out}, count));
    }
    if (what.algorithm == "ring_chunked") {
      return run_in_place(
          what, out, std::make_shared<gloo::AllreduceRingChunked<float>>(context_, std::vector<float*>{out}, count));
    }
    auto options = std::make_shared<gloo::AllreduceOptions>(context_);
    options->setAlgorithm(what.algorithm == "bcube" ? gloo::AllreduceOptions::Algorithm::BCUBE
                                                    : gloo::AllreduceOptions::Algorithm::RING);
    options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    if (!what.in_place) options->setInput(in, what.count);
    options->setOutput(out, what.count);
    return {[options] { gloo::allreduce(*options); }, in, out};
  }

  Operation reduce_scatter(const Case& what) {
    const std::size_t all = what.count * static_cast<std::size_t>(size());
    float* const buffer = what.in_place ? what.first.data() : what.second.data();
    const std::vector<int> counts(static_cast<std::size_t>(size()), static_cast<int>(what.count));
    return run_in_place(what, buffer,
                        std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
                            context_, std::vector<float*>{buffer}, static_cast<int>(all), counts));
  }

  Operation reduce(const Case& what) {
    float* const out = what.in_place ? what.first.data() : what.second.data();
    auto options = std::make_shared<gloo::ReduceOptions>(context_);
    options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    if (!what.in_place) options->setInput(what.first.data(), what.count);
    options->setOutput(out, what.count);
    options->setRoot(0);
    return {[options] { gloo::reduce(*options); }, what.first.data(), rank() == 0 ? out : nullptr};
  }

  Operation broadcast(const Case& what) {
    auto options = std::make_shared<gloo::BroadcastOptions>(context_);
    float* const output = what.in_place ? what.first.data() : what.second.data();
    if (rank() == 0 && !what.in_place) options->setInput(what.first.data(), what.count);
    options->setOutput(output, what.count);
    options->setRoot(0);
    return {[options] { gloo::broadcast(*options); }, rank() == 0 ? what.first.data() : nullptr, output};
  }

  Operation allgather(const Case& what) {
    const std::size_t all = what.count * static_cast<std::size_t>(size());
    auto options = std::make_shared<gloo::AllgatherOptions>(context_);
    float* const own =
        what.in_place ? what.first.data() + what.count * static_cast<std::size_t>(rank()) : what.first.data();
    float* const out = what.in_place ? what.first.data() : what.second.data();
    if (!what.in_place) options->setInput(own, what.count);
    options->setOutput(out, all);
    return {[options] { gloo::allgather(*options); }, own, out};
  }

  Operation gather(const Case& what) {
    auto options = std::make_shared<gloo::GatherOptions>(context_);
    options->setInput(what.first.data(), what.count);
    if (rank() == 0) options->setOutput(what.second.data(), what.count * static_cast<std::size_t>(size()));
    options->setRoot(0);
    return {[options] { gloo::gather(*options); }, what.first.data(), rank() == 0 ? what.second.data() : nullptr};
  }

  Operation scatter(const Case& what) {
    auto options = std::make_shared<gloo::ScatterOptions>(context_);
    if (rank() == 0) {
      std::vector<float*> blocks;
      for (std::size_t i = 0; i < static_cast<std::size_t>(size()); ++i) {
        blocks.push_back(what.first.data() + i * what.count);
      }
      options->setInputs(blocks, what.count);
    }
    options->setOutput(what.second.data(), what.count);
    options->setRoot(0);
    return {[options] { gloo::scatter(*options); }, rank() == 0 ? what.first.data() : nullptr, what.second.data()};
  }

  Operation alltoall(const Case& what) {
    auto options = std::make_shared<gloo::AlltoallOptions>(context_);
    options->setInput(what.first.data(), what.first.size());
    options->setOutput(what.second.data(), what.second.size());
    return {[options] { gloo::alltoall(*options); }, what.first.data(), what.second.data()};
  }

  Operation allgather_v(const Case& what) {
    const auto counts = peers::block_counts(what.collective, what.count, rank(), size());
    const auto own = counts.begin() + rank();
    float* const in = what.first.data() + (what.in_place ? std::accumulate(counts.begin(), own, std::size_t{0}) : 0);
    float* const out = what.in_place ? what.first.data() : what.second.data();
    auto options = std::make_shared<gloo::AllgathervOptions>(context_);
    if (!what.in_place) options->setInput(in, *own);
    options->setOutput(out, counts);
    return {[options] { gloo::allgatherv(*options); }, in, out};
  }

  Operation alltoall_v(const Case& what) {
    const auto counts = peers::block_counts(what.collective, what.count, rank(), size());
    const std::vector<std::int64_t> elements(counts.begin(), counts.end());
    auto options = std::make_shared<gloo::AlltoallvOptions>(context_);
    options->setInput(what.first.data(), elements);
    options->setOutput(what.second.data(), elements);
    return {[options] { gloo::alltoallv(*options); }, what.first.data(), what.second.data()};
  }

  Operation sendrecv(const Case& what) {
    const std::shared_ptr in = context_->createUnboundBuffer(what.first.data(), what.first.size_bytes());
    const std::shared_ptr out = context_->createUnboundBuffer(what.second.data(), what.second.size_bytes());
    const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
    const auto run = [in, out, next, previous, slot = std::uint64_t{1} << 32] {
      out->recv(previous, slot);
      in->send(next, slot);
      in->waitSend();
      out->waitRecv();
    };
    return {run, what.first.data(), what.second.data()};
  }

  const SharedValues& shared_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::Context> context_;
};

// The body of one forked rank.
int run_rank(int rank, const SharedValues& shared, const std::string& folder, const peers::Options& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    Gloo gloo(rank, shared, folder);
    const std::size_t wrong = peers::measure_all(gloo, options);
    gloo.barrier();
    std::fflush(nullptr);
    return wrong > 0 ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const peers::Options options = peers::parse_options(argc, argv);
    if (options.ranks < 1) throw std::invalid_argument("Say how many ranks with --ranks N.");
    const SharedValues shared(options.ranks);
    char folder[] = "/tmp/gloo_collectives_XXXXXX";
    if (mkdtemp(folder) == nullptr) throw std::runtime_error("Cannot make a folder in /tmp for the ranks to meet.");
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < options.ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) _exit(run_rank(rank, shared, folder, options));
      ranks.push_back(child);
    }
    const int result = peers::wait_for(ranks);
    std::filesystem::remove_all(folder);
    return result;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
