"""Whether there is a GPU, what a build would lack here, and the build."""

import glob
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# By what they are found with: Debian's packages.
COMMANDS = {"cmake": "cmake", "ninja": "ninja-build", "c++": "g++"}
HEADERS = {
    "asio.hpp": "libasio-dev", "fmt/format.h": "libfmt-dev", "spdlog/spdlog.h": "libspdlog-dev",
    "hwy/highway.h": "libhwy-dev", "openssl/ssl.h": "libssl-dev", "nlohmann/json.hpp": "nlohmann-json3-dev",
    "CLI/CLI.hpp": "libcli11-dev", "zlib.h": "zlib1g-dev", "hwloc.h": "libhwloc-dev", "gtest/gtest.h": "libgtest-dev",
    "gmock/gmock.h": "libgmock-dev",
}
TORCH_TARGET = "hocket_torch"
TARGETS = ["hocket_conformance_tests", "hocket-bench", "hocket-run", "bench-gpu-limit"]


@dataclass
class Programs:
    """What is run; a test puts others in their place."""
    tests: str
    bench: str
    limit: str

    @staticmethod
    def of(build):
        folder = Path(build).resolve() / "bin"
        return Programs(str(folder / "hocket_conformance_tests"), str(folder / "hocket-bench"),
                        str(folder / "bench-gpu-limit"))


def has_gpu():
    return bool(glob.glob("/dev/nvidia[0-9]*"))


def has_toolkit():
    places = [os.environ.get(name) for name in ("CUDAToolkit_ROOT", "CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    return shutil.which("nvcc") is not None or any(place and Path(place, "bin/nvcc").exists() for place in places)


def missing_headers(names, compiler="c++"):
    """Those that the compiler does not find; one run of its preprocessor."""
    source = "".join(f"#if !__has_include(<{name}>)\nmissing {name}\n#endif\n" for name in names)
    done = subprocess.run([compiler, "-E", "-P", "-x", "c++", "-"], input=source, capture_output=True, text=True,
                          check=False)
    said = done.stdout.split()
    return [name for name in names if name in said]


def missing():
    """What a build needs and is not here, each with the package of Debian that has it."""
    lacking = [f"{name} ({package})" for name, package in COMMANDS.items() if shutil.which(name) is None]
    if not has_toolkit():
        lacking.append("nvcc, a CUDA toolkit (tools/setup --cuda, or NVIDIA's)")
    if shutil.which("c++"):
        lacking += [f"<{name}> ({HEADERS[name]})" for name in missing_headers(HEADERS)]
    return lacking


def build(folder, targets=TARGETS, options=()):
    """Nothing, or what went wrong."""
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHOCKET_CUDA=ON", *options]
    for command in (configure, ["cmake", "--build", folder, "--target", *targets]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return "\n".join((done.stdout + done.stderr).splitlines()[-30:])
    return None


def build_torch(folder, python):
    """The package hocket_torch for the PyTorch of that Python; nothing, or what went wrong."""
    return build(folder, [TORCH_TARGET], ["-DHOCKET_TORCH=ON", f"-DHOCKET_TORCH_PYTHON={python}"])
