"""A plot in SVG: time over size for every number of ranks, one line for each library, both axes logarithmic."""

import math
from html import escape

import contenders
import machine
import report
import sizes

COLOURS = {"hocket": "#d1495b", "openmpi": "#2e86ab", "mpich": "#6a994e", "gloo": "#e09f3e", "limit": "#9a9a9a"}
PANEL, GAP, LEFT, TOP, BOTTOM = 330, 66, 70, 92, 64
HEIGHT = 300


def decades(low, high):
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def time_text(us):
    if us >= 1e6:
        return f"{us / 1e6:g} s"
    return f"{us / 1e3:g} ms" if us >= 1e3 else f"{us:g} µs"


class Scale:
    """Maps values onto positions, logarithmically."""

    def __init__(self, low, high, begin, end):
        self.low, self.span = math.log(low), math.log(high) - math.log(low) or 1
        self.begin, self.length = begin, end - begin

    def __call__(self, value):
        return self.begin + (math.log(value) - self.low) / self.span * self.length


def series_of(results, options, ranks, libraries, limit):
    """{name: [(size, time)]}"""
    series = {}
    measured = sizes.possible(options.collective, ranks, options.sizes)
    for library in libraries:
        cells = [(size, results.best(ranks, size, library)) for size in measured]
        series[library] = [(size, cell.time_us) for size, cell in cells if cell]
    for size in measured:
        time = machine.limit_us(limit, options.transport, options.collective, ranks, size)
        series.setdefault("limit", []).extend([(size, time)] if time else [])
    return {name: points for name, points in series.items() if points}


def text(x, y, words, anchor="middle", size=12, colour="#444", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def line(name, points):
    dash = ' stroke-dasharray="5 4"' if name == "limit" else ""
    width = 3 if name == "hocket" else 1.8
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    drawn = [f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="{width}"{dash} '
             'stroke-linejoin="round"/>']
    if name != "limit":
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3.6 if name == "hocket" else 2.8}" fill="{COLOURS[name]}"/>'
                  for x, y in points]
    return drawn


def panel(left, ranks, series, shown, ticks):
    x = Scale(shown[0], max(shown[-1], 2 * shown[0]), left + 12, left + PANEL - 12)
    y = Scale(ticks[0], ticks[-1], TOP + HEIGHT, TOP)
    drawn = [f'<rect x="{left}" y="{TOP}" width="{PANEL}" height="{HEIGHT}" fill="#fbfbfb" stroke="#ddd"/>',
             text(left + PANEL / 2, TOP - 10, f"{ranks} ranks", size=14, weight="bold", colour="#222")]
    for tick in ticks:
        drawn.append(f'<line x1="{left}" x2="{left + PANEL}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e6e6e6"/>')
        drawn.append(text(left - 6, y(tick) + 4, time_text(tick), anchor="end", size=11))
    for size in shown:
        drawn.append(f'<line x1="{x(size):.1f}" x2="{x(size):.1f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#f0f0f0"/>')
        drawn.append(text(x(size), TOP + HEIGHT + 18, report.size_text(size).replace("iB", ""), size=11))
    for name in sorted(series, key=lambda name: name == "hocket"):  # ours on top
        drawn += line(name, [(x(size), y(time)) for size, time in series[name]])
    return drawn


def legend(names, left):
    drawn = []
    for name in names:
        words = contenders.TITLES.get(name, "limit of the machine")
        dash = ' stroke-dasharray="5 4"' if name == "limit" else ""
        drawn.append(f'<line x1="{left}" x2="{left + 26}" y1="54" y2="54" stroke="{COLOURS[name]}" '
                     f'stroke-width="3"{dash}/>')
        drawn.append(text(left + 32, 58, words, anchor="start", size=12, colour="#222"))
        left += 56 + 7.2 * len(words)
    return drawn


def draw(results, options, libraries, limit):
    """The whole picture as text."""
    panels = {ranks: series_of(results, options, ranks, libraries, limit) for ranks in options.ranks}
    panels = {ranks: series for ranks, series in panels.items() if series}
    times = [time for series in panels.values() for points in series.values() for _, time in points]
    if not times:
        return None
    ticks = decades(min(times), max(times))
    if len(ticks) == 1:
        ticks.append(ticks[0] * 10)
    width = LEFT + len(panels) * (PANEL + GAP) - GAP + 24
    height = TOP + HEIGHT + BOTTOM
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             text(LEFT, 28, report.subject(options), anchor="start", size=15, weight="bold", colour="#111")]
    names = [name for name in (*libraries, "limit") if any(name in series for series in panels.values())]
    drawn += legend(names, LEFT)
    for index, (ranks, series) in enumerate(panels.items()):
        drawn += panel(LEFT + index * (PANEL + GAP), ranks, series, sizes.possible(options.collective, ranks, options.sizes),
                       ticks)
    axes = "size of the larger buffer; time of one operation on the slowest rank, lower is better"
    drawn.append(text(width / 2, height - 14, axes))
    return "\n".join(drawn + ["</svg>", ""])
