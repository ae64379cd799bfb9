// The Python module hocket_torch_double: while it is imported, torch has a CUDA device, which is the double of one.
#include <torch/csrc/utils/pybind.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "tests/doubled/torch/device.hpp"

namespace hocket::testing_support {
namespace {

// Work that is in a stream and goes on when a test says so.
class Gate {
 public:
  void hold() const {
    put([shared = shared_] {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return shared->open; });
    });
  }
  void open() const {
    const std::lock_guard lock(shared_->mutex);
    shared_->open = true;
    shared_->changed.notify_all();
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

at::Tensor to_device(const at::Tensor& tensor) {
  at::Tensor made = make_tensor(tensor.sizes(), tensor.strides(), tensor.scalar_type());
  return made.copy_(tensor);
}

at::Tensor to_host(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().device(at::kCPU)).copy_(tensor);
}

}  // namespace

PYBIND11_MODULE(hocket_torch_double, module) {
  namespace py = pybind11;
  using Free = py::call_guard<py::gil_scoped_release>;
  py::class_<Gate>(module, "Gate").def(py::init<>()).def("hold", &Gate::hold, Free()).def("open", &Gate::open, Free());
  module.def("to_device", &to_device, Free());
  module.def("to_host", &to_host, Free());
  module.def("exchange_current_stream", &exchange_current_stream, Free());
  module.def(
      "current_handle", [] { return reinterpret_cast<std::uintptr_t>(handle_of(current_stream())); }, Free());
  module.def("is_idle", &is_idle, Free());
  module.def("finish", &finish, Free());
  module.def("tensors_alive", &tensors_alive, Free());
  module.def("streams_told_of", &streams_told_of, Free());
}

}  // namespace hocket::testing_support
