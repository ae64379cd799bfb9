// The Python module hocket_torch._C.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "bindings/torch/src/memory.hpp"
#include "bindings/torch/src/process_group.hpp"

namespace hocket_torch {
namespace {

c10::intrusive_ptr<TorchBase> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                     std::chrono::milliseconds timeout, const std::string& name) {
  return c10::make_intrusive<ProcessGroupHocket>(
      GroupOptions{.store = store, .rank = rank, .size = size, .timeout = timeout, .name = name});
}

void abort(const c10::intrusive_ptr<TorchBase>& group, const std::string& reason) {
  auto* const own = dynamic_cast<ProcessGroupHocket*>(group.get());
  if (own == nullptr) throw std::invalid_argument("this process group is not of the backend hocket");
  own->abort(reason);
}

// The type is that of `like`, because torch 1.13 has no other way to name one.
at::Tensor empty(const std::vector<std::int64_t>& sizes, const at::Tensor& like) {
  return registered_empty(sizes, like.scalar_type());
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  namespace py = pybind11;
  module.doc() = "Process groups of torch.distributed on Hocket.";
  // PyTorch 2 calls it on ranks that will not be in a new group, where a process has named its device when it joined.
  py::class_<ProcessGroupHocket, TorchBase, c10::intrusive_ptr<ProcessGroupHocket>>(module, "ProcessGroupHocket")
      .def("perform_nocolor_split", [](const ProcessGroupHocket&, const py::object&) {});
  module.def("create", &create, py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"), py::arg("name"),
             py::call_guard<py::gil_scoped_release>());
  module.def("abort", &abort, py::arg("group"), py::arg("reason"), py::call_guard<py::gil_scoped_release>());
  module.def("empty", &empty, py::arg("sizes"), py::arg("like"), py::call_guard<py::gil_scoped_release>());
  module.def("register_allocations", &register_allocations, py::arg("on"));
  module.def("version", &hocket_version);
}

}  // namespace hocket_torch
