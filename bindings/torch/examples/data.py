"""Pictures to learn from: MNIST's or CIFAR-10's files if there is a folder with them, else small made ones."""

import gzip
from pathlib import Path

import torch

TEMPLATES_SEED = 11  # the made classes are the same in every run


def batches(folder, count, batch, seed=0):
    """`count` batches of pictures and labels, the same on every rank."""
    pictures, labels = read(folder) if folder else make(count * batch, seed)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    for index in range(count):
        chosen = order[torch.arange(index * batch, (index + 1) * batch) % len(order)]
        yield pictures[chosen], labels[chosen]


def make(count, seed):
    """Ten patterns of 28 × 28 points, with noise."""
    patterns = torch.randn(10, 1, 28, 28, generator=torch.Generator().manual_seed(TEMPLATES_SEED))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    return 0.5 * patterns[labels] + 0.5 * torch.randn(count, 1, 28, 28, generator=generator), labels


def shape(folder):
    """Channels, height and width of the pictures."""
    return tuple(read(folder)[0].shape[1:]) if folder else (1, 28, 28)


def read(folder):
    folder = Path(folder)
    cifar = sorted(folder.glob("data_batch_*.bin"))
    return read_cifar(cifar) if cifar else read_mnist(folder)


def read_mnist(folder):
    pictures = idx(folder / "train-images-idx3-ubyte", 3).unsqueeze(1)
    labels = idx(folder / "train-labels-idx1-ubyte", 1)
    if len(pictures) != len(labels):
        raise SystemExit(f"{folder}: {len(pictures)} pictures, but {len(labels)} labels")
    return pictures.float() / 255 - 0.13, labels.long()


def idx(path, dimensions):
    """A file of bytes in the IDX format, plain or gzipped."""
    packed = path.with_name(path.name + ".gz")
    if not path.is_file() and not packed.is_file():
        raise SystemExit(f"there is neither {path} nor {packed.name}")
    content = path.read_bytes() if path.is_file() else gzip.decompress(packed.read_bytes())
    sizes = [int.from_bytes(content[4 + 4 * index:8 + 4 * index], "big") for index in range(dimensions)]
    start = 4 + 4 * dimensions
    if content[:4] != bytes([0, 0, 8, dimensions]) or len(content) != start + torch.Size(sizes).numel():
        raise SystemExit(f"{path} is no IDX file of {dimensions} dimensions of bytes")
    return torch.frombuffer(bytearray(content[start:]), dtype=torch.uint8).reshape(sizes)


def read_cifar(paths):
    """The binary version: a label and 3 × 32 × 32 bytes for each picture."""
    rows = []
    for path in paths:
        content = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
        if len(content) % 3073:
            raise SystemExit(f"{path} is no binary file of CIFAR-10")
        rows.append(content.reshape(-1, 3073))
    rows = torch.cat(rows)
    return rows[:, 1:].reshape(-1, 3, 32, 32).float() / 255 - 0.47, rows[:, 0].long()
