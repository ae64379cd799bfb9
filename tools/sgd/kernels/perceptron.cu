// The device's kernels of hocket-sgd, compiled by cmake/cuda.cmake into one image that the driver loads.
#include "tools/sgd/kernels/perceptron.hpp"

HOCKET_DEVICE_KERNEL(hocket_sgd_forward, hocket::sgd::ForwardArguments, hocket::sgd::forward_share)
HOCKET_DEVICE_KERNEL(hocket_sgd_judge, hocket::sgd::JudgeArguments, hocket::sgd::judge_share)
HOCKET_DEVICE_KERNEL(hocket_sgd_scale, hocket::sgd::ScaleArguments, hocket::sgd::scale_share)
HOCKET_DEVICE_KERNEL(hocket_sgd_gradient, hocket::sgd::GradientArguments, hocket::sgd::gradient_share)
HOCKET_DEVICE_KERNEL(hocket_sgd_back, hocket::sgd::BackArguments, hocket::sgd::back_share)
HOCKET_DEVICE_KERNEL(hocket_sgd_update, hocket::sgd::UpdateArguments, hocket::sgd::update_share)
