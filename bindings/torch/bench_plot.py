"""Draws what bench.py has measured, as SVG: time over size, a panel for each call and number of ranks."""

import html
import math

COLOURS = ["#d1495b", "#2e86ab", "#6a994e"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 250, 170, 70, 70, 70


def text(x, y, words, anchor="start", size=11, weight="normal", colour="#222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{colour}">'
            f"{html.escape(words)}</text>")


def line(points, colour, width=2):
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def short(value, unit_names, base):
    index = 0
    while value >= base and index + 1 < len(unit_names):
        value, index = value / base, index + 1
    return f"{value:g} {unit_names[index]}"


class Panel:
    """One pair of axes, both logarithmic."""

    def __init__(self, x, y, sizes, times):
        self.x, self.y = x, y
        self.least, self.most = math.log(min(sizes)), math.log(max(sizes) * 1.0001)
        self.low, self.high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
        self.high = max(self.high, self.low + 1)

    def place(self, size, seconds):
        across = (math.log(size) - self.least) / max(self.most - self.least, 1e-9)
        up = (math.log10(seconds) - self.low) / (self.high - self.low)
        return self.x + across * WIDTH, self.y + HEIGHT - up * HEIGHT

    def axes(self, title, sizes):
        yield f'<rect x="{self.x}" y="{self.y}" width="{WIDTH}" height="{HEIGHT}" fill="#fbfbfb" stroke="#ddd"/>'
        yield text(self.x, self.y - 8, title, weight="bold")
        for power in range(self.low, self.high + 1):
            y = self.place(math.exp(self.least), 10.0 ** power)[1]
            yield line([(self.x, y), (self.x + WIDTH, y)], "#e6e6e6", 1)
            yield text(self.x - 6, y + 4, short(10.0 ** (power + 9), ["ns", "µs", "ms", "s"], 1000), "end", 10, colour="#555")
        for size in sizes:
            x = self.place(size, 10.0 ** self.low)[0]
            yield text(x, self.y + HEIGHT + 16, short(size, ["B", "KiB", "MiB", "GiB"], 1024), "middle", 9, colour="#555")


def panels(rows):
    """Rows by call and ranks, for calls that were measured with more than one size."""
    found = {}
    for row in rows:
        if row["bytes"]:
            found.setdefault((row["call"], row["ranks"]), []).append(row)
    return {key: group for key, group in found.items() if len(group) > 1}


def draw(rows, backends):
    found = panels(rows)
    calls, ranks = list(dict.fromkeys(call for call, _ in found)), sorted({count for _, count in found})
    width, height = LEFT + len(ranks) * (WIDTH + GAP), TOP + len(calls) * (HEIGHT + GAP)
    shapes = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
              'role="img" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
              '<rect width="100%" height="100%" fill="white"/>',
              text(LEFT, 24, "Time of a call of torch.distributed, by size", size=15, weight="bold")]
    for index, backend in enumerate(backends):
        shapes.append(text(LEFT + 90 * index, 44, backend, weight="bold", size=12, colour=COLOURS[index % len(COLOURS)]))
    for (call, count), group in found.items():
        shapes += draw_panel(LEFT + ranks.index(count) * (WIDTH + GAP), TOP + calls.index(call) * (HEIGHT + GAP),
                             f"{call}, {count} ranks", group, backends)
    return "\n".join([*shapes, "</svg>", ""])


def draw_panel(x, y, title, group, backends):
    times = [seconds for row in group for seconds in row["seconds"].values() if seconds]
    sizes = [row["bytes"] for row in group]
    if not times:
        return []
    panel = Panel(x, y, sizes, times)
    shapes = list(panel.axes(title, sizes))
    for index, backend in enumerate(backends):
        points = [panel.place(row["bytes"], row["seconds"][backend]) for row in group if row["seconds"].get(backend)]
        if points:
            shapes.append(line(points, COLOURS[index % len(COLOURS)]))
    return shapes
