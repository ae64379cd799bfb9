"""The whole table: every collective on every transport, kept in a file that a run goes on from where one was stopped.

The file has a line of JSON for each setting and number of ranks, written when all its rounds are through.
"""

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

from comparison import FLOOR

COLLECTIVES = ["allreduce", "reduce", "broadcast", "reduce_scatter", "allgather", "gather", "scatter", "alltoall",
               "reduce_scatter_v", "allgather_v", "gather_v", "scatter_v", "alltoall_v", "scan", "exscan", "sendrecv",
               "barrier"]
ONE_PLACEMENT = ("alltoall", "alltoall_v", "sendrecv", "barrier")  # without in-place form, here or elsewhere
PROTOCOL = ("rounds", "seconds", "warmup_seconds")  # flags that an entry keeps: figures of others cannot be compared
SIZES = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 4 << 20, 64 << 20]


@dataclass(frozen=True)
class Setting:
    """What one comparison is about, but for the number of ranks."""

    collective: str
    transport: str = "shm"
    memory: str = "plain"
    placement: str = "out"
    fresh: bool = False

    @property
    def panel(self):
        """What stands together in the picture."""
        place = {"shm": f"shared memory, {self.memory}", "tcp": "TCP"}[self.transport]
        return f"{place}, {self.placement} of place" if self.placement == "out" else f"{place}, in place"

    @property
    def data(self):
        return "fresh inputs" if self.fresh else "back to back"


def exists(setting):
    if setting.transport == "tcp" and setting.memory == "registered":
        return False
    if setting.collective in ONE_PLACEMENT and setting.placement == "in":
        return False
    return setting.collective != "barrier" or (not setting.fresh and setting.memory == "plain")


def all_settings(only=None):
    """What most users meet comes first, so that a run that is stopped early has it. `only`: those of which this is
    true, as in {"transport": "tcp"}."""
    every = [Setting(collective, transport, memory, placement, fresh)
             for fresh in (False, True) for placement in ("out", "in")
             for transport, memory in (("shm", "plain"), ("tcp", "plain"), ("shm", "registered"))
             for collective in COLLECTIVES]
    return [setting for setting in every
            if exists(setting) and all(getattr(setting, name) == value for name, value in (only or {}).items())]


def flags(values):
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in values.items())


class Table:
    """What the file holds."""

    def __init__(self, path):
        self.path = Path(path)
        self.entries = {}  # (setting, ranks) -> entry
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                self.keep(json.loads(line))

    def keep(self, entry):
        self.entries[Setting(**entry["setting"]), entry["ranks"]] = entry

    def has(self, setting, ranks):
        return (setting, ranks) in self.entries

    def add(self, setting, ranks, entry):
        entry = {"setting": asdict(setting), "ranks": ranks, **entry}
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self.keep(entry)

    def versions(self):
        return {version for entry in self.entries.values() for version in entry["versions"].values() if version}

    def measured_otherwise(self, options):
        """Sentences on the entries that were measured with other flags than these."""
        counts = {}
        for entry in self.entries.values():
            with_flags = {"warmup_seconds": 0, **entry}  # the first ones had no such flag
            other = {name: with_flags[name] for name in PROTOCOL
                     if with_flags.get(name, getattr(options, name)) != getattr(options, name)}
            if other:
                counts[flags(other)] = counts.get(flags(other), 0) + 1
        return [f"Measured with {other}: {count} of {len(self.entries)} settings in {self.path}."
                for other, count in sorted(counts.items())]

    def cells(self):
        """All cells that have both Hocket's figure and a peer's."""
        return [cell for (setting, ranks), entry in self.entries.items() for cell in cells_of(setting, ranks, entry)]


@dataclass
class Cell:
    setting: Setting
    ranks: int
    size: int
    time_us: float
    cpu_us: float
    peer: str  # the fastest
    peer_time_us: float
    peer_cpu_us: float
    ratio: float  # the median of the rounds' ratios of the fastest peer's time to Hocket's

    @property
    def cpu_ratio(self):
        """Of the fastest peer's processor time to ours; above 1 we take less."""
        return self.peer_cpu_us / self.cpu_us if self.cpu_us > 0 else None


def cells_of(setting, ranks, entry):
    by_size = {}
    for figure in entry["best"]:
        by_size.setdefault(figure["bytes"], {})[figure["library"]] = figure
    cells = []
    for size, figures in sorted(by_size.items()):
        own = figures.pop("hocket", None)
        if own is None or not figures:
            continue
        best = min(figures.values(), key=lambda figure: figure["time_us"])
        cells.append(Cell(setting, ranks, size, own["time_us"], own["cpu_us_per_op"], best["library"], best["time_us"],
                          best["cpu_us_per_op"], own.get("ratio") or best["time_us"] / own["time_us"]))
    return cells


def summary(cells):
    """(cells, median ratio, cells below 0.95, cells from 4 KiB on that take more processor time than the fastest peer)"""
    ratios = [cell.ratio for cell in cells]
    large = [cell for cell in cells if cell.size >= 4096 and cell.cpu_ratio is not None]
    return (len(cells), statistics.median(ratios), sum(ratio < FLOOR for ratio in ratios),
            sum(cell.cpu_ratio < 1 for cell in large))

