"""What pip calls to build hocket_torch: CMake compiles, and the result is packed into a wheel. It needs nothing but CMake, a
compiler and the PyTorch of this Python."""

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME, VERSION = "hocket_torch", "0.1.0"
INFO = f"{NAME}-{VERSION}.dist-info"
METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: The backend "hocket" of torch.distributed
License: Apache-2.0
Requires-Python: >=3.8
"""
# PyTorch 2.5 and later import it by themselves; the newest of them also do it when the backend is asked for.
ENTRY_POINTS = f"[torch.backends]\n{NAME} = {NAME}:autoload\n[torch.distributed.backends]\nhocket = {NAME}:autoload\n"


def tag():
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{version}-{version}-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def compile_into(folder):
    """Returns the folder of the package."""
    # pip hides the system's packages from this process by variables, but PyTorch is one of them.
    hidden = ("PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    subprocess.run(["cmake", "-S", HERE.parents[1], "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DHOCKET_TORCH=ON",
                    "-DHOCKET_BUILD_TESTS=OFF", "-DHOCKET_BUILD_PROGRAMS=OFF", f"-DHOCKET_TORCH_PYTHON={sys.executable}"],
                   env=environment, check=True)
    subprocess.run(["cmake", "--build", folder, "--target", NAME, "-j", str(os.cpu_count())], env=environment, check=True)
    return Path(folder, "python", NAME)


def metadata():
    return {"METADATA": METADATA, "entry_points.txt": ENTRY_POINTS,
            "WHEEL": f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {tag()}\n"}


# Without this, pip would build everything to learn the name.
def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory, INFO)
    folder.mkdir()
    for name, text in metadata().items():
        (folder / name).write_text(text)
    return INFO


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        package = compile_into(folder)
        files = {f"{NAME}/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}
    files.update({f"{INFO}/{name}": text.encode() for name, text in metadata().items()})
    record = [f"{INFO}/RECORD,,"]
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}")
    files[f"{INFO}/RECORD"] = ("\n".join(record) + "\n").encode()
    wheel = f"{NAME}-{VERSION}-{tag()}.whl"
    with zipfile.ZipFile(Path(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel
