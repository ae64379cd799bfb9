// A perceptron in the memory of a GPU, by the kernels in kernels/perceptron.hpp, in the order of one stream.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tools/device/device.hpp"
#include "tools/sgd/kernels/perceptron.hpp"
#include "tools/sgd/model.hpp"

#ifdef HOCKET_HAS_CUDA
extern "C" const unsigned char hocket_sgd_kernels[];
#else
static constexpr const unsigned char* hocket_sgd_kernels = nullptr;
#endif

namespace hocket::sgd {
namespace {

template <class Arguments, void (*share)(const Arguments&, std::uint64_t, std::uint64_t)>
device::Kernel kernel(const char* name) {
  return device::make_kernel<Arguments, share>(hocket_sgd_kernels, name);
}

// Memory that grows as it is needed.
class Room {
 public:
  explicit Room(device::Device& device) : device_(device) {}

  template <class T>
  T* of(std::size_t count) {
    if (!memory_ || memory_->size() < count * sizeof(T)) {
      memory_.reset();
      memory_ = std::make_unique<device::Bytes>(device_, count * sizeof(T));
    }
    return reinterpret_cast<T*>(memory_->data());
  }

 private:
  device::Device& device_;
  std::unique_ptr<device::Bytes> memory_;
};

class DeviceModel final : public Model {
 public:
  DeviceModel(const Training& training, std::size_t inputs, std::size_t outputs)
      : rule_(training.rule), device_(device::open_device(training.device)), stream_(*device_) {
    sizes_.push_back(inputs);
    sizes_.insert(sizes_.end(), training.hidden.begin(), training.hidden.end());
    sizes_.push_back(outputs);
    std::size_t count = 0;
    for (std::size_t i = 0; i < layers(); ++i) count += (sizes_[i] + 1) * sizes_[i + 1];
    for (auto* array : {&weights_, &gradients_, &velocities_}) {
      *array = std::make_unique<device::Bytes>(*device_, count * sizeof(float));
    }
    count_ = count;
    name_tensors();
    const std::vector<float> zeros(count);
    set(zeros, zeros);
    for (std::size_t i = 0; i <= layers(); ++i) values_.emplace_back(*device_);
  }
  ~DeviceModel() override {
    try {
      stream_.finish();
    } catch (const Error&) {  // work of a communicator that has broken
    }
  }
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  std::span<const Tensor> tensors() const override { return tensors_; }
  void* stream() override { return stream_.handle(); }

  // The host makes the numbers, so that they are the same on both.
  void initialise(std::uint64_t seed) override {
    Network network(perceptron(sizes_.front(), std::span(sizes_).subspan(1, layers() - 1), sizes_.back()));
    network.initialise(seed);
    upload(weights_->data(), network.weights());
  }

  Score forward(std::span<const float> pixels, std::span<const std::uint8_t> labels) override {
    stream_.finish();  // some of the memory may be given back
    samples_ = labels.size();
    upload(values_[0].of<float>(pixels.size()), pixels);
    static const device::Kernel run = kernel<ForwardArguments, forward_share>("hocket_sgd_forward");
    for (std::size_t i = 0; i < layers(); ++i) {
      float* const output = values_[i + 1].of<float>(samples_ * sizes_[i + 1]);
      const auto [weights, biases] = parts_of(i);
      stream_.launch(run,
                     ForwardArguments{output, values(i), weights.weights.data(), biases.weights.data(), shape_of(i),
                                      i + 1 < layers() ? 1U : 0U},
                     samples_ * sizes_[i + 1]);
    }
    return judge(labels);
  }

  void backward(float scale, const std::function<void(std::size_t)>& ready) override {
    static const device::Kernel scaling = kernel<ScaleArguments, scale_share>("hocket_sgd_scale");
    static const device::Kernel gradients = kernel<GradientArguments, gradient_share>("hocket_sgd_gradient");
    static const device::Kernel back = kernel<BackArguments, back_share>("hocket_sgd_back");
    float* gradient = values(layers());
    const std::size_t count = samples_ * sizes_.back();
    stream_.launch(scaling, ScaleArguments{gradient, count, scale}, count);
    std::size_t complete = 0;
    for (std::size_t i = layers(); i-- > 0;) {
      const auto [weights, biases] = parts_of(i);
      stream_.launch(
          gradients,
          GradientArguments{weights.gradient.data(), biases.gradient.data(), values(i), gradient, shape_of(i)},
          (sizes_[i] + 1) * sizes_[i + 1]);
      if (i > 0) {
        float* const before = spare_[i % 2].of<float>(samples_ * sizes_[i]);
        stream_.launch(back, BackArguments{before, values(i), weights.weights.data(), gradient, shape_of(i)},
                       samples_ * sizes_[i]);
        gradient = before;
      }
      ready(complete++);
      ready(complete++);
    }
  }

  void step(double rate) override {
    static const device::Kernel update = kernel<UpdateArguments, update_share>("hocket_sgd_update");
    float* velocities = floats(*velocities_);
    for (const Tensor& tensor : tensors_) {
      const std::size_t count = tensor.weights.size();
      stream_.launch(update,
                     UpdateArguments{tensor.weights.data(), velocities, tensor.gradient.data(), count,
                                     static_cast<float>(rule_.momentum), static_cast<float>(rate),
                                     static_cast<float>(tensor.is_bias() ? 0 : rule_.weight_decay)},
                     count);
      velocities += count;
    }
  }

  std::vector<float> weights() override { return download(*weights_); }
  std::vector<float> velocities() override { return download(*velocities_); }
  void set(std::span<const float> weights, std::span<const float> velocities) override {
    upload(weights_->data(), weights);
    upload(velocities_->data(), velocities);
  }

 private:
  std::size_t layers() const { return sizes_.size() - 1; }
  static float* floats(const device::Bytes& of) { return reinterpret_cast<float*>(of.data()); }
  float* values(std::size_t layer) { return values_[layer].of<float>(0); }
  Shape shape_of(std::size_t layer) const { return {samples_, sizes_[layer], sizes_[layer + 1]}; }
  // Weights and biases of a layer; the last layer's are the first.
  std::pair<const Tensor&, const Tensor&> parts_of(std::size_t layer) const {
    const std::size_t first = 2 * (layers() - 1 - layer);
    return {tensors_[first], tensors_[first + 1]};
  }

  // In the order of Network.
  void name_tensors() {
    std::size_t used = 0;
    const auto take = [&](std::string name, std::size_t count, std::size_t products) {
      tensors_.push_back(
          {std::move(name), {floats(*weights_) + used, count}, {floats(*gradients_) + used, count}, products});
      used += count;
    };
    for (std::size_t i = layers(); i-- > 0;) {
      take(fmt::format("layer {} weights", i), sizes_[i] * sizes_[i + 1], sizes_[i]);
      take(fmt::format("layer {} biases", i), sizes_[i + 1], 0);
    }
  }

  Score judge(std::span<const std::uint8_t> labels) {
    static const device::Kernel run = kernel<JudgeArguments, judge_share>("hocket_sgd_judge");
    auto* const device_labels = labels_.of<std::uint8_t>(samples_);
    auto* const losses = losses_.of<double>(samples_);
    auto* const correct = correct_.of<std::uint8_t>(samples_);
    upload(device_labels, labels);
    stream_.launch(run, JudgeArguments{values(layers()), device_labels, losses, correct, samples_, sizes_.back()},
                   samples_);
    std::vector<double> found(samples_);
    std::vector<std::uint8_t> right(samples_);
    stream_.finish();
    stream_.copy(found.data(), losses, samples_ * sizeof(double));
    stream_.copy(right.data(), correct, samples_);
    stream_.finish();
    return {std::accumulate(found.begin(), found.end(), 0.0), std::accumulate(right.begin(), right.end(), 0.0)};
  }

  template <class T, class Values>
  void upload(T* to, const Values& values) {
    const auto bytes = std::as_bytes(std::span(values));
    stream_.copy(to, bytes.data(), bytes.size());
    stream_.finish();
  }
  std::vector<float> download(const device::Bytes& from) {
    std::vector<float> values(count_);
    stream_.copy(values.data(), from.data(), count_ * sizeof(float));
    stream_.finish();
    return values;
  }

  const UpdateRule rule_;
  const std::unique_ptr<device::Device> device_;
  device::Stream stream_;
  std::vector<std::size_t> sizes_;  // of the input, and of each layer's output
  std::size_t count_ = 0;           // of weights
  std::unique_ptr<device::Bytes> weights_, gradients_, velocities_;
  std::vector<Tensor> tensors_;
  std::size_t samples_ = 0;   // of the last forward()
  std::vector<Room> values_;  // the pixels, and each layer's output; the last becomes the loss's gradient
  Room spare_[2] = {Room(*device_), Room(*device_)};
  Room labels_{*device_}, losses_{*device_}, correct_{*device_};
};

}  // namespace

std::unique_ptr<Model> make_device_model(const Training& training, std::size_t inputs, std::size_t outputs) {
  return std::make_unique<DeviceModel>(training, inputs, outputs);
}

}  // namespace hocket::sgd
