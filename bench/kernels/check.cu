// The device's kernels of hocket-bench, compiled by cmake/cuda.cmake into one image that the driver loads.
#include "bench/kernels/check.hpp"

HOCKET_DEVICE_KERNEL(hocket_bench_fill, hocket::bench::FillArguments, hocket::bench::fill_share)
HOCKET_DEVICE_KERNEL(hocket_bench_check, hocket::bench::CheckArguments, hocket::bench::check_share)
