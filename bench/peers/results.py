"""What was measured, and what it comes to: medians over rounds, and for each library its best setting."""

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass


@dataclass
class Cell:
    time_us: float  # median over rounds of time_of()
    cpu_us: float
    control: str
    algorithm: str
    transport: str  # as the library reports it; peers report what they were told
    rounds: int


def read_rows(json_file):
    """(version, rows) that a program wrote. The peers' harnesses write row by row: what one wrote before it was ended
    counts."""
    try:
        with open(json_file) as file:
            text = file.read()
    except OSError:
        return None, []
    for whole in (text, text + "]}", text[: text.rfind("\n")].rstrip(",") + "]}"):
        try:
            document = json.loads(whole)
            return document["version"], document["rows"]
        except (ValueError, KeyError):
            continue
    return None, []


# Where some ranks need not wait for all others, those who only send above all, they run ahead, so that operations come in
# bursts: most of them take no time at all, and the rest all of it. Blocks that vary may be empty.
BURSTS = ("broadcast", "scatter", "gather", "reduce", "reduce_scatter_v", "allgather_v", "scatter_v", "gather_v", "alltoall_v",
          "scan", "exscan", "sendrecv")


def time_of(row):
    """What counts as the time of one operation."""
    return row["time_us"]["mean" if row["collective"] in BURSTS else "p50"]


class Results:
    def __init__(self):
        self.rows = defaultdict(list)  # (ranks, size, library, control, algorithm) -> rows of all rounds
        self.wrong = []  # sentences

    def add(self, ranks, size, contender, rows):
        """Rows of one size, one for each algorithm; a size that cannot be divided among the ranks is measured as the
        nearest one that can. Returns whether there is any."""
        for row in rows:
            algorithm = row["algorithm"] if contender.library != "hocket" else ""
            self.rows[ranks, size, contender.library, contender.control, algorithm].append(row)
            if row["wrong"]:
                self.wrong.append(f"{contender.title}, {ranks} ranks, {size} bytes: {row['wrong']} wrong elements")
        return bool(rows)

    def best(self, ranks, size, library):
        """The library's best setting at this point, or None."""
        cells = []
        for (r, s, lib, control, algorithm), rows in self.rows.items():
            if (r, s, lib) == (ranks, size, library):
                time = statistics.median(time_of(row) for row in rows)
                cpu = statistics.median(row["cpu_us_per_op"] for row in rows)
                last = rows[-1]
                cells.append(Cell(time, cpu, control, algorithm or last["algorithm"], last.get("transport", ""), len(rows)))
        # A setting that was given up after the first round counts with what it had reached.
        return min(cells, key=lambda cell: cell.time_us, default=None)

    def time(self, ranks, size, contender):
        """The best time of one contender's algorithms, or None."""
        times = [statistics.median(time_of(row) for row in rows)
                 for (r, s, library, control, _), rows in self.rows.items()
                 if (r, s, library, control) == (ranks, size, contender.library, contender.control)]
        return min(times, default=None)

    def ratios(self, ranks, size):
        """Of each round: the fastest peer's time over Hocket's."""
        peers, own = [], []
        for (r, s, library, _, _), rows in self.rows.items():
            if (r, s) == (ranks, size):
                times = [time_of(row) for row in rows]
                own, peers = (times, peers) if library == "hocket" else (own, peers + [times])
        rounds = [(mine, [times[at] for times in peers if at < len(times)]) for at, mine in enumerate(own)]
        return [min(theirs) / mine for mine, theirs in rounds if theirs]

    def ratio(self, ranks, size):
        """The median of the rounds' ratios, or None. In a round the libraries run within seconds of each other, so that
        a machine whose speed changes from round to round does not move it."""
        found = self.ratios(ranks, size)
        return statistics.median(found) if found else None

    def best_of(self, ranks, size, libraries):
        """(library, cell) of the best one, or (None, None)."""
        found = [(library, self.best(ranks, size, library)) for library in libraries]
        found = [(library, cell) for library, cell in found if cell]
        return min(found, key=lambda pair: pair[1].time_us, default=(None, None))

    def worth_another_round(self, ranks, sizes, contender, margin=1.3):
        """The contender's algorithms that were at some size within a margin of its library's best."""
        keep = []
        for (r, size, library, control, algorithm), rows in self.rows.items():
            if (r, library, control) != (ranks, contender.library, contender.control) or size not in sizes:
                continue
            time = statistics.median(time_of(row) for row in rows)
            if time <= margin * self.best(ranks, size, library).time_us and algorithm not in keep:
                keep.append(algorithm)
        return keep
