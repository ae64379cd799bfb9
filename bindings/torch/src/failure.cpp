#include "bindings/torch/src/failure.hpp"

#include <pybind11/pybind11.h>

#include <stdexcept>

namespace hocket_torch {

std::exception_ptr failure(hocket_result result, const std::string& message) {
  // Torch's users know a time-out by these words.
  const char* const known_as = result == HOCKET_TIMEOUT ? ": Timed out while waiting; " : ": ";
  const std::string text = hocket_result_name(result) + (known_as + message);
  if (result == HOCKET_INVALID_ARGUMENT) return std::make_exception_ptr(std::invalid_argument(text));
  return std::make_exception_ptr(std::runtime_error(text));
}

void check(hocket_result result) {
  if (result != HOCKET_OK) std::rethrow_exception(failure(result, hocket_last_error()));
}

void check_signals() {
  if (Py_IsInitialized() == 0) return;
  const pybind11::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

}  // namespace hocket_torch
