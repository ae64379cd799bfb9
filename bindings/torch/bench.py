#!/usr/bin/env python3
"""Measures torch.distributed on Hocket beside gloo: every collective over sizes, and a step of DistributedDataParallel.

All backends are measured in one run by the same processes, in turns: a round of calls on one, then on the next, and again. A
round's time is that of its slowest rank; the table has the medians of the rounds. Without a launcher (torchrun, mpirun) it
starts the ranks itself. The backend mpi takes part where torch was built with it and mpirun has started the ranks."""

import argparse
import datetime
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, str(Path(__file__).resolve().parent / "examples"))
import common  # noqa: E402  pylint: disable=wrong-import-position

import bench_plot  # noqa: E402  pylint: disable=wrong-import-position
from bench_calls import CALLS, STEPS, ddp_step  # noqa: E402  pylint: disable=wrong-import-position

# This folder has the package's source, which without its library is not what shall be imported.
sys.path = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]

TIMEOUT = datetime.timedelta(seconds=120)
UNITS = {"": 1, "K": 2 ** 10, "M": 2 ** 20, "G": 2 ** 30}


# ---- measuring -------------------------------------------------------------------------------------------------------


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


class Bench:
    """On every rank: the groups that are compared, and one by which the ranks agree."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.control = dist.new_group(backend="gloo", timeout=TIMEOUT)
        self.groups = {name: dist.new_group(backend=name, timeout=TIMEOUT) for name in arguments.backends}

    def slowest(self, seconds):
        shared = torch.tensor([seconds], dtype=torch.float64)
        dist.all_reduce(shared, dist.ReduceOp.MAX, group=self.control)
        return float(shared)

    def round(self, call, group, calls):
        """Seconds that one of so many calls takes, on the slowest rank."""
        dist.barrier(self.control)
        began = time.perf_counter()
        for _ in range(calls):
            call(group)
        return self.slowest((time.perf_counter() - began) / calls)

    def measure(self, calls_by_backend):
        """Medians in seconds by backend; None for one that does not have the call."""
        counts, times = {}, {}
        for name, call in calls_by_backend.items():
            times[name] = []
            try:
                self.round(call, self.groups[name], 2)  # connects, and warms up
                once = self.round(call, self.groups[name], 3)
                counts[name] = max(1, min(100_000, int(self.arguments.seconds / max(once, 1e-7))))
            except RuntimeError as error:
                if "support" not in str(error):
                    raise
                counts[name] = 0
        for _ in range(self.arguments.rounds):
            for name, call in calls_by_backend.items():
                if counts[name]:
                    times[name].append(self.round(call, self.groups[name], counts[name]))
        return {name: median(found) if found else None for name, found in times.items()}

    def run(self):
        """Yields (name, bytes, medians by backend)."""
        for name in self.arguments.calls:
            if name in STEPS:
                yield name, 0, self.measure({backend: ddp_step(name, group, self.arguments.batch)
                                             for backend, group in self.groups.items()})
                continue
            for size in [0] if name == "barrier" else self.arguments.sizes:
                call = CALLS[name](max(size // 4, dist.get_world_size()), dist.get_world_size())
                yield name, size, self.measure({backend: call for backend in self.groups})


def main(arguments):
    """On every rank. Rank 0 shows how far it is, and writes what was found."""
    ranks, rows = dist.get_world_size(), []
    for name, size, medians in Bench(arguments).run():
        rows.append({"ranks": ranks, "call": name, "bytes": size, "seconds": medians})
        if dist.get_rank() == 0:
            shown = "  ".join(f"{backend} {microseconds(seconds)}" for backend, seconds in medians.items())
            print(f"{ranks} ranks  {name}  {bytes_of(size)}  {shown} µs", file=sys.stderr, flush=True)
    if dist.get_rank() == 0:
        Path(arguments.result).write_text(json.dumps(rows), encoding="utf-8")


def start_one(rank, ranks, arguments, folder):
    common.load("hocket" if "hocket" in arguments.backends else "gloo")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks, timeout=TIMEOUT)
    main(arguments)
    dist.destroy_process_group()


# ---- output ----------------------------------------------------------------------------------------------------------


def bytes_of(size):
    for unit in ("G", "M", "K"):
        if size >= UNITS[unit] and size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]} {unit}iB"
    return f"{size} B" if size else ""


def microseconds(seconds):
    if seconds is None:
        return "–"
    value = seconds * 1e6
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.3g}'):,.0f}"


def cell(row, backends):
    return " : ".join(microseconds(row["seconds"].get(backend)) for backend in backends)


def table(rows, backends):
    """In Markdown: a table for each number of ranks, and one of the calls that have no size."""
    lines = []
    for ranks in dict.fromkeys(row["ranks"] for row in rows):
        found = [row for row in rows if row["ranks"] == ranks]
        columns = sorted({row["bytes"] for row in found if row["bytes"]})
        sized = {}
        for row in found:
            if row["bytes"]:
                sized.setdefault(row["call"], {})[row["bytes"]] = cell(row, backends)
        if sized:
            lines += ["", f"| {ranks} ranks | {' | '.join(map(bytes_of, columns))} |", "|---" + "|--:" * len(columns) + "|"]
            lines += [f"| {call} | {' | '.join(cells.get(size, '') for size in columns)} |" for call, cells in sized.items()]
        whole = [row for row in found if not row["bytes"]]
        if whole:
            lines += ["", f"| {ranks} ranks | time |", "|---|--:|"]
            lines += [f"| {row['call']} | {cell(row, backends)} |" for row in whole]
    return "\n".join(lines)


def sizes(text):
    return [int(word.rstrip("KMGiB")) * UNITS[word.rstrip("iB").lstrip("0123456789")] for word in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,4", help="how many to start, one run for each (default %(default)s)")
    parser.add_argument("--sizes", default="4,4K,64K,1M,25M", type=sizes,
                        help="bytes, of the whole tensor (default %(default)s)")
    parser.add_argument("--backends", default="hocket,gloo" + (",mpi" if dist.is_mpi_available() and common.launched() else ""))
    parser.add_argument("--calls", default=",".join([*CALLS, *STEPS]), help="what to measure (default: all)")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each round (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="for each backend, in turns (default %(default)s)")
    parser.add_argument("--batch", type=int, default=4, help="rows of each rank in a step of training (default %(default)s)")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--svg", help="file for a plot")
    arguments = parser.parse_args()
    arguments.backends, arguments.calls = arguments.backends.split(","), arguments.calls.split(",")
    unknown = [name for name in arguments.calls if name not in CALLS and name not in STEPS]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join([*CALLS, *STEPS])}")
    return arguments


def run(arguments):
    """All rows, for each number of ranks; None on ranks of a launcher other than the first."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        arguments.result = f"{folder}/result"
        if common.launched():
            common.load("hocket" if "hocket" in arguments.backends else "gloo")
            common.join("mpi" if "mpi" in arguments.backends else "gloo")
            main(arguments)
            return json.loads(Path(arguments.result).read_text(encoding="utf-8")) if dist.get_rank() == 0 else None
        for ranks in map(int, arguments.ranks.split(",")):
            os.makedirs(f"{folder}/{ranks}")
            mp.start_processes(start_one, (ranks, arguments, f"{folder}/{ranks}"), nprocs=ranks, start_method="fork")
            rows += json.loads(Path(arguments.result).read_text(encoding="utf-8"))
    return rows


if __name__ == "__main__":
    chosen = parse()
    found_rows = run(chosen)
    if found_rows is not None:
        print(f"median of a call, in microseconds: {' : '.join(chosen.backends)}")
        print(table(found_rows, chosen.backends))
        if chosen.json:
            Path(chosen.json).write_text(json.dumps(found_rows, indent=1), encoding="utf-8")
        if chosen.svg:
            Path(chosen.svg).write_text(bench_plot.draw(found_rows, chosen.backends), encoding="utf-8")
