// Buffers on a GPU, which are filled and checked there, in the order of one stream.
#include <utility>

#include "bench/kernels/check.hpp"
#include "bench/memory.hpp"
#include "tools/device/require.hpp"

#ifdef HOCKET_HAS_CUDA
extern "C" const unsigned char hocket_bench_kernels[];
#else
static constexpr const unsigned char* hocket_bench_kernels = nullptr;
#endif

namespace hocket::bench {
namespace {

// Of what elements consist, as the kernels see them.
struct Units {
  std::uint32_t bytes = 1, number = 1;
  std::uint64_t sign = 0;
};

template <class T>
Units units_of() {
  constexpr auto sign_of = [](std::size_t bytes) { return std::uint64_t{1} << (bytes * 8 - 1); };
  if constexpr (elements::Complex<T>) return {sizeof(T) / 2, 2, sign_of(sizeof(T) / 2)};
  if constexpr (elements::Located<T>) return {sizeof(T) / 2, 2, 0};  // whole numbers, whose zeros have no sign
  if constexpr (std::is_floating_point_v<T> || elements::Narrow<T>) return {sizeof(T), 1, sign_of(sizeof(T))};
  return {sizeof(T), 1, 0};
}

class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(std::unique_ptr<device::Device> device)
      : device_(std::move(device)),
        stream_(*device_),
        table_(*device_, Pattern::period * sizeof(std::complex<double>)),
        wrong_(*device_, sizeof(std::uint64_t)) {}

  std::byte* allocate(std::size_t bytes) override { return device::require(device_->gpu().allocate(bytes)); }
  void free(std::byte* memory) override {
    try {
      stream_.finish();
    } catch (const Error&) {  // work of a communicator that has broken
    }
    (void)device_->gpu().free(memory);
  }

  void set(std::byte* to, std::byte value, std::size_t bytes) override {
    upload({&value, 1});
    launch_fill(to, bytes, 0, 1, 1);
  }
  std::uint64_t count_other(const std::byte* at, std::byte value, std::size_t bytes) override {
    upload({&value, 1});
    return launch_check(at, bytes, 0, 1, {}, -1);
  }
  void fill(const Pattern& pattern, int source, std::size_t first, std::byte* to, std::size_t count) override {
    const Units units = upload(pattern, source);
    launch_fill(to, count * units.number, first * units.number, Pattern::period * units.number, units.bytes);
  }
  std::uint64_t count_wrong(const Pattern& pattern, int source, std::size_t first, const std::byte* at,
                            std::size_t count, double tolerance) override {
    const Units units = upload(pattern, source);
    return launch_check(at, count, first, Pattern::period, units, tolerance);
  }
  device::Stream* stream() override { return &stream_; }

 private:
  // What is copied from memory of the host has been read when this returns.
  void upload(std::span<const std::byte> table) {
    stream_.copy(table_.data(), table.data(), table.size());
    stream_.finish();
  }
  Units upload(const Pattern& pattern, int source) {
    upload(pattern.table(source));
    return elements::visit(pattern.dtype(), []<class T>(T) { return units_of<T>(); });
  }

  void launch_fill(std::byte* to, std::uint64_t units, std::uint64_t first, std::uint64_t period, std::uint32_t bytes) {
    static const device::Kernel kernel =
        device::make_kernel<FillArguments, fill_share>(hocket_bench_kernels, "hocket_bench_fill");
    stream_.launch(kernel, FillArguments{to, table_.data(), units, first, period, bytes}, units);
  }
  std::uint64_t launch_check(const std::byte* at, std::uint64_t count, std::uint64_t first, std::uint64_t period,
                             const Units& units, double tolerance) {
    static const device::Kernel kernel =
        device::make_kernel<CheckArguments, check_share>(hocket_bench_kernels, "hocket_bench_check");
    std::uint64_t wrong = 0;
    stream_.copy(wrong_.data(), &wrong, sizeof wrong);
    stream_.launch(kernel,
                   CheckArguments{at, table_.data(), reinterpret_cast<std::uint64_t*>(wrong_.data()), count, first,
                                  period, units.bytes, units.number, units.sign, tolerance},
                   count);
    stream_.finish();
    stream_.copy(&wrong, wrong_.data(), sizeof wrong);
    stream_.finish();
    return wrong;
  }

  const std::unique_ptr<device::Device> device_;
  device::Stream stream_;
  device::Bytes table_, wrong_;
};

}  // namespace

std::unique_ptr<Memory> make_device_memory(std::unique_ptr<device::Device> device) {
  return std::make_unique<DeviceMemory>(std::move(device));
}

}  // namespace hocket::bench
