"""The plot of the README, docs/performance/allreduce-tcp.svg: drawn from the table of docs/performance/figures.md by the
same code as the plots of bench/compare."""

import re
import sys
from pathlib import Path

SECTION = "## Allreduce over loopback TCP"
PLOT = "docs/performance/allreduce-tcp.svg"
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def table(root):
    """Sizes in bytes, and for each number of ranks the times in µs of Hocket and of the best peer, by size."""
    text = (Path(root) / "docs/performance/figures.md").read_text()
    lines = [line for line in text.split(SECTION)[1].split("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    sizes = [int(number) * UNITS[unit] for number, unit in (cell.split() for cell in cells[0][1:])]
    rows = {}
    for first, *others in cells[2:]:
        ranks = re.fullmatch(r"(\d+) ranks", first)
        if ranks:
            rows[int(ranks[1])] = [tuple(float(time.replace(",", "")) for time in re.findall(r"[\d,.]+", cell)[:2])
                                   for cell in others]
    return sizes, rows


def draw(root):
    peers = str(Path(root).resolve() / "bench/peers")
    if peers not in sys.path:
        sys.path.insert(0, peers)
    import contenders
    import plot

    sizes, rows = table(root)
    plot.COLOURS["best peer"] = plot.COLOURS["openmpi"]
    contenders.TITLES["best peer"] = "the faster of Open MPI and MPICH"
    names = ["hocket", "best peer"]
    times = [time for row in rows.values() for cell in row for time in cell]
    ticks = plot.decades(min(times), max(times))
    width = plot.LEFT + len(rows) * (plot.PANEL + plot.GAP) - plot.GAP + 24
    height = plot.TOP + plot.HEIGHT + plot.BOTTOM
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             plot.text(plot.LEFT, 28, "Allreduce of float32 over TCP, in place, 2 cores", anchor="start", size=15, weight="bold",
                       colour="#111"), *plot.legend(names, plot.LEFT)]
    for index, (ranks, cells) in enumerate(rows.items()):
        series = {name: [(size, cell[which]) for size, cell in zip(sizes, cells)] for which, name in enumerate(names)}
        drawn += plot.panel(plot.LEFT + index * (plot.PANEL + plot.GAP), ranks, series, sizes, ticks)
    drawn.append(plot.text(width / 2, height - 14, "size of the larger buffer; time of one operation on the slowest rank, lower is better"))
    return "\n".join(drawn + ["</svg>", ""])
