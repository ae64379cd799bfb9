"""Prints what CMake must know of the PyTorch of this Python: lines NAME=VALUE, lists with semicolons."""
import os
import sysconfig

import torch
from torch._C import _distributed_c10d  # noqa: F401  a PyTorch without it has no backends

folder = os.path.dirname(torch.__file__)
includes = [os.path.join(folder, "include"), os.path.join(folder, "include", "torch", "csrc", "api", "include"),
            sysconfig.get_paths()["include"]]
definitions = [f"_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
    value = getattr(torch._C, f"_PYBIND11_{name}", None)
    if value is not None:
        definitions.append(f'PYBIND11_{name}="{value}"')
print("VERSION=" + torch.__version__)
print("INCLUDES=" + ";".join(includes))
print("LIBRARY_DIRS=" + os.path.join(folder, "lib"))
print("DEFINITIONS=" + ";".join(definitions))
print("SUFFIX=" + sysconfig.get_config_var("EXT_SUFFIX"))
