"""How fast collectives are on the GPU, beside what the GPU itself takes and beside other libraries; and the table."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from gpu_check import checks
from gpu_check.build import ROOT

RANKS = [2, 4, 8]
SIZES = [4, 1 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30]
SMALL = 64 << 10  # up to here a call's time is that of its hand-overs, above it that of memory
HANDOVERS = 2     # of an allreduce: to the rank that does the work, and back
PEER = ROOT / "bench/peers/torch_cuda.py"
PEERS = {"gloo": "Gloo", "nccl": "NCCL"}


@dataclass
class Limit:
    copy_GBps: float     # bytes read and written
    handover_us: float

    def of_us(self, ranks, size):
        """The least time of an allreduce of ranks that share the GPU."""
        if size <= SMALL:
            return HANDOVERS * self.handover_us
        return 2 * ranks * size / self.copy_GBps / 1e3


@dataclass
class Figures:
    gpu: str = ""
    limit: Limit = None
    rows: dict = field(default_factory=dict)   # (ranks, size): a row of hocket-bench
    peers: dict = field(default_factory=dict)  # (library, ranks, size): microseconds
    facts: dict = field(default_factory=dict)  # of the rank that was killed
    notes: list = field(default_factory=list)  # what was left out, and why


def measure_limit(program):
    status, said = checks.run([program], 300)
    if status != 0:
        return None, checks.last_lines(said)
    found = json.loads(said)
    return Limit(found["copy_GBps"], found["handover_us"]), None


def measure_row(bench, ranks, size, seconds=0.5):
    """A row of hocket-bench, in place; each size by itself, so that one for which there is no memory costs no other."""
    document, problem = checks.measure(bench, ["allreduce", "--ranks", str(ranks), "-b", str(size), "-e", str(size),
                                               "--placement", "in", "--seconds", str(seconds), "-c", "1"])
    if problem:
        return None, problem
    row = document["rows"][0]
    return (row, None) if row["wrong"] == 0 else (None, f"{row['wrong']} wrong elements")


def name_of_gpu():
    status, said = checks.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 30) \
        if os.path.exists("/usr/bin/nvidia-smi") else (1, "")
    return said.splitlines()[0] if status == 0 and said else "a GPU"


def peers_here():
    """Which libraries of PEERS the PyTorch of this Python has for CUDA tensors, and why others are left out."""
    probe = ("import torch, torch.distributed as d; assert torch.cuda.is_available(), 'its PyTorch sees no GPU'; "
             "print(*[n for n in ('gloo', 'nccl') if getattr(d, f'is_{n}_available', lambda: True)()])")
    try:
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return [], "PyTorch cannot be imported"
    if done.returncode != 0:
        return [], checks.last_lines(done.stderr, 1)
    return done.stdout.split(), None


def measure_peer(library, ranks, sizes):
    """({size: microseconds}, None), or (None, what went wrong)."""
    status, said = checks.run([sys.executable, str(PEER), "--backend", library, "--ranks", str(ranks), "--sizes",
                               ",".join(map(str, sizes))], 600)
    if status != 0:
        return None, checks.last_lines(said)
    found = [line for line in said.splitlines() if line.startswith("{")]  # libraries warn before and after it
    if not found:
        return None, checks.last_lines(said)
    return {int(size): time for size, time in json.loads(found[-1]).items()}, None


# ---- the table -------------------------------------------------------------------------------------------------------


def size_text(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def cell(value, digits=2):
    return "–" if value is None else f"{value:,.{digits}f}"


def table_of(figures, ranks):
    libraries = [name for name in PEERS if any(key[0] == name for key in figures.peers)]
    head = ["size", "µs", "call µs", "GB/s", "limit µs", "of the limit", "moved by"]
    head += [f"{PEERS[name]} µs" for name in libraries]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for (of, size), row in sorted(figures.rows.items()):
        if of != ranks:
            continue
        time = row["time_us"]["p50"]
        limit = figures.limit.of_us(ranks, size) if figures.limit else None
        line = [size_text(size), cell(time), cell(row["call_us"]), cell(row["memory_GBps"], 1), cell(limit),
                cell(time / limit if limit else None), row["algorithm"]]
        line += [cell(figures.peers.get((name, ranks, size))) for name in libraries]
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


def document_of(figures):
    text = [f"# Allreduce of float32 in place, by ranks that share one GPU: {figures.gpu}", ""]
    if figures.limit:
        text += [f"The GPU copies {figures.limit.copy_GBps:.0f} GB/s (read and written). A bare hand-over between streams "
                 f"of two processes, by a word that both see, takes {figures.limit.handover_us:.2f} µs.", "",
                 f"The limit is 2·N·S bytes at that rate, and up to {size_text(SMALL)} {HANDOVERS} hand-overs. Times are "
                 "of batches, until the GPU is done; a call is what the host spends in one.", ""]
    if "detection_ms" in figures.facts:
        text += [f"A rank of four was killed: the others noticed within {figures.facts['detection_ms']:.1f} ms, and had a "
                 f"right result after {figures.facts['recovery_ms']:.1f} ms.", ""]
    for ranks in sorted({key[0] for key in figures.rows}):
        text += [f"## {ranks} ranks", "", table_of(figures, ranks), ""]
    if figures.notes:
        text += ["## Left out", ""] + [f"- {note}" for note in figures.notes] + [""]
    return "\n".join(text)
