"""Every example does what it says, on small data and on files in the formats of MNIST and CIFAR-10."""

import gzip
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

from ranks import BACKEND, main
from start_test import free_port, left_behind

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
HELPERS = {"common.py", "data.py", "models.py"}
sys.path.insert(0, str(EXAMPLES))
import data  # noqa: E402  pylint: disable=wrong-import-position


def write_mnist(folder, count=200, packed=True):
    pictures, labels = data.make(count, 0)
    pictures = ((pictures * 60 + 128).clamp(0, 255)).to(torch.uint8)
    for name, tensor in (("train-images-idx3-ubyte", pictures), ("train-labels-idx1-ubyte", labels.to(torch.uint8))):
        sizes = [count, 28, 28] if tensor.dim() > 1 else [count]
        content = bytes([0, 0, 8, len(sizes)]) + b"".join(size.to_bytes(4, "big") for size in sizes) + tensor.numpy().tobytes()
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


def write_cifar(folder, count=60):
    rows = torch.randint(256, (count, 3073), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    rows[:, 0] %= 10
    (folder / "data_batch_1.bin").write_bytes(rows.numpy().tobytes())


class Examples(unittest.TestCase):
    def run_example(self, *command, expected=0):
        environment = {**os.environ, "TORCH_TESTS_MARK": self.id(), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, *command], env=environment, timeout=120, text=True, check=False, cwd=EXAMPLES,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, expected, done.stdout)
        self.assertEqual(left_behind(self.id()), [])
        return done.stdout

    def test_all_are_in_the_list(self):
        page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        for path in EXAMPLES.glob("*.py"):
            self.assertEqual(path.name not in HELPERS, f"[{path.name}]({path.name})" in page, path.name)

    def test_with_files_of_mnist(self):
        for packed in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                write_mnist(Path(folder), packed=packed)
                self.run_example("local_sgd.py", "--backend", BACKEND, "--ranks", "2", "--data", folder)

    def test_with_files_of_cifar(self):
        with tempfile.TemporaryDirectory() as folder:
            write_cifar(Path(folder))
            self.run_example("synchronous_sgd.py", "--backend", BACKEND, "--ranks", "2", "--data", folder, "--steps", "2")

    def test_a_damaged_file_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            write_mnist(Path(folder), packed=False)
            (Path(folder) / "train-labels-idx1-ubyte").write_bytes(b"no labels")
            output = self.run_example("linear_mnist.py", "--backend", BACKEND, "--ranks", "2", "--data", folder, expected=1)
            self.assertIn("is no IDX file", output)

    def test_a_wrong_result_fails(self):
        """With three ranks there is no picture of a collective."""
        output = self.run_example("collectives.py", "--backend", BACKEND, "--ranks", "3", expected=1)
        self.assertIn("wrong", output)

    def test_linear_mnist_by_torchrun(self):
        output = self.run_example("-m", "torch.distributed.run", "-r", "9:1", "-t", "9:1", "--nproc_per_node", "4",
                                  "--master_port", str(free_port()), "linear_mnist.py", "--backend", BACKEND)
        self.assertIn("as in one process", output)

    def test_linear_mnist_by_mpirun(self):
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MASTER_PORT": str(free_port())}
        command = ["mpirun.openmpi", "--oversubscribe", "-n", "4", sys.executable, "linear_mnist.py", "--backend", BACKEND]
        try:
            done = subprocess.run(command, env={**os.environ, **environment}, timeout=120, text=True, check=False, cwd=EXAMPLES,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except FileNotFoundError:
            self.skipTest("there is no mpirun.openmpi")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("as in one process", done.stdout)


def add_test_of(path):
    def test(self):
        self.assertIn("well done", self.run_example(path.name, "--backend", BACKEND))

    setattr(Examples, f"test_{path.stem}", test)


for example in sorted(EXAMPLES.glob("*.py")):
    if example.name not in HELPERS:
        add_test_of(example)


if __name__ == "__main__":
    main()
