"""A device for tests: a GPU where PyTorch is made for one, else the double of one (tests/doubled/torch), else none.

Nothing here touches a GPU before the ranks have forked."""

import contextlib
import glob
import threading
import time
import unittest
from types import SimpleNamespace

import torch

from ranks import BACKEND
from values import strided

double = None
if torch.version.cuda is None:
    with contextlib.suppress(ImportError):
        import hocket_torch_double as double
HAS_GPU = torch.version.cuda is not None and bool(glob.glob("/dev/nvidia[0-9]*"))
LARGE = 1 << 16  # elements that ranks of a host move on the device alone
PATIENCE = 20  # seconds that a stream may take

if double:
    # What the package asks torch for, and a torch without CUDA does not have.
    torch.cuda.current_stream = lambda device: SimpleNamespace(cuda_stream=double.current_handle())


def needs_device():
    if BACKEND != "hocket":
        raise unittest.SkipTest("gloo takes CUDA tensors in fewer calls")
    if not double and not HAS_GPU:
        raise unittest.SkipTest("there is no GPU, and no double of one")


def needs_double():
    if not double:
        raise unittest.SkipTest("only the double of a GPU shows this")


def on_device(tensor):
    """A copy, in the current stream."""
    return double.to_device(tensor) if double else tensor.cuda()


def on_device_with_gaps(tensor):
    """A copy with gaps between its elements, which a copy to a GPU would close."""
    return on_device(strided(tensor)) if double else strided(on_device(tensor))


def on_host(tensor):
    """A copy, after what is in the current stream; the host waits for it."""
    return double.to_host(tensor) if double else tensor.cpu()


@contextlib.contextmanager
def stream(number):
    """Another current stream."""
    if not double:
        with torch.cuda.stream(torch.cuda.Stream()):
            yield
        return
    before = double.exchange_current_stream(number)
    try:
        yield
    finally:
        double.exchange_current_stream(before)


@contextlib.contextmanager
def held():
    """Holds the current stream; yields what lets it go."""
    if double:
        gate = double.Gate()
        gate.hold()
        try:
            yield gate.open
        finally:
            gate.open()
    else:
        torch.cuda._sleep(200_000_000)  # pylint: disable=protected-access
        yield lambda: None


@contextlib.contextmanager
def opened_later(open_gate, seconds=0.1):
    """Opens it from another thread while the body runs, which may wait for that."""
    timer = threading.Timer(seconds, open_gate)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def await_done(work):
    """Until the device has done it, too."""
    deadline = time.monotonic() + PATIENCE
    while not work.is_completed():
        if time.monotonic() > deadline:
            raise AssertionError("the device does not come to an end")
        time.sleep(0.001)
