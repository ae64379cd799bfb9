"""The whole table as a page and as a picture: each cell is coloured by how fast Hocket is beside the fastest peer."""

import math

import contenders
import plot
import report
import whole_table

CELL_WIDTH, CELL_HEIGHT, LEFT, TOP, GAP = 46, 18, 150, 96, 40
SHORT = (214, 40, 57)  # below the floor
AHEAD = (42, 143, 86)
EVEN = (247, 247, 242)


def colour(ratio):
    """White for equal; full colour at a third or three times."""
    depth = min(abs(math.log(ratio)) / math.log(3), 1)
    to = AHEAD if ratio >= 1 else SHORT
    return "#" + "".join(f"{round(low + (high - low) * depth):02x}" for low, high in zip(EVEN, to))


def panels_of(cells):
    """{(panel, data): {(collective, ranks): {column: cell}}}, in the order of measuring. A column is a size's place."""
    panels = {}
    for cell in cells:
        rows = panels.setdefault((cell.setting.panel, cell.setting.data), {})
        row = rows.setdefault((cell.setting.collective, cell.ranks), {})
        row[cell.size] = cell
    return panels


def columns_of(rows):
    return sorted({size for row in rows.values() for size in row})


def draw_panel(left, top, title, rows):
    sizes = columns_of(rows)
    drawn = [plot.text(left, top - 34, title, anchor="start", size=14, weight="bold", colour="#222")]
    for column, size in enumerate(sizes):
        drawn.append(plot.text(left + LEFT + (column + 0.5) * CELL_WIDTH, top - 6,
                               report.size_text(size).replace("iB", ""), size=11))
    order = {name: place for place, name in enumerate(whole_table.COLLECTIVES)}
    for line, (collective, ranks) in enumerate(sorted(rows, key=lambda row: (order[row[0]], row[1]))):
        y = top + line * CELL_HEIGHT
        drawn.append(plot.text(left + LEFT - 6, y + 13, f"{collective}, {ranks}", anchor="end", size=11))
        for column, size in enumerate(sizes):
            cell = rows[collective, ranks].get(size)
            if cell is None:
                continue
            x = left + LEFT + column * CELL_WIDTH
            drawn.append(f'<rect x="{x}" y="{y}" width="{CELL_WIDTH - 1}" height="{CELL_HEIGHT - 1}" '
                         f'fill="{colour(cell.ratio)}"/>')
            weight = "bold" if cell.ratio < whole_table.FLOOR else "normal"
            drawn.append(plot.text(x + CELL_WIDTH / 2, y + 13, f"{cell.ratio:.2f}", size=10, colour="#222", weight=weight))
    width = LEFT + len(sizes) * CELL_WIDTH
    return drawn, width, len(rows) * CELL_HEIGHT


def draw(cells):
    """The picture as text: a panel for each transport, memory and placement, fresh inputs on the right."""
    panels = panels_of(cells)
    drawn, left, right, bottom = [], 20, 0, 0
    for data in dict.fromkeys(data for _, data in panels):
        top, widest = TOP, 0
        for (title, of_data), rows in panels.items():
            if of_data != data:
                continue
            shapes, width, height = draw_panel(left, top, f"{title}, {data}", rows)
            drawn += shapes
            widest, top = max(widest, width), top + height + 2 * GAP
        left += widest + GAP
        right, bottom = left, max(bottom, top)
    head = plot.text(20, 28, "Hocket beside the fastest peer: its time over Hocket's; above 1, green, Hocket is faster",
                     anchor="start", size=15, weight="bold", colour="#111")
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{right}" height="{bottom}" '
                      f'viewBox="0 0 {right} {bottom}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
                      f'<rect width="{right}" height="{bottom}" fill="white"/>', head, *drawn, "</svg>", ""])


def summary_table(cells):
    rows = [["", "cells", "median ratio", "below 0.95", "more processor time"]]
    groups = {}
    for cell in cells:
        groups.setdefault(f"{cell.setting.panel}, {cell.setting.data}", []).append(cell)
    for title, group in [*groups.items(), ("all", cells)]:
        count, median, short, more = whole_table.summary(group)
        rows.append([title, str(count), f"{median:.2f}", str(short), str(more)])
    return report.aligned(rows)


def short_cells(cells):
    """Those that are below the floor, the worst first."""
    rows = [["collective", "ranks", "size", "setting", "Hocket µs", "peer µs", "peer", "ratio"]]
    for cell in sorted((cell for cell in cells if cell.ratio < whole_table.FLOOR), key=lambda cell: cell.ratio):
        rows.append([cell.setting.collective, str(cell.ranks), report.size_text(cell.size),
                     f"{cell.setting.panel}, {cell.setting.data}", report.number(cell.time_us),
                     report.number(cell.peer_time_us), contenders.TITLES[cell.peer], f"{cell.ratio:.2f}"])
    return report.aligned(rows) if len(rows) > 1 else "None."


def page(cells, picture, facts):
    """The page in Markdown; `facts` are sentences on where and how it was measured."""
    return "\n".join([
        "# Every collective beside its peers", "", *facts, "",
        "Float32 sum. A ratio is the fastest peer's time over Hocket's, in the median of all rounds. Processor time is "
        "compared with that of the fastest peer, from 4 KiB on.", "",
        f"![Ratios of all cells by collective, ranks and size]({picture})", "", summary_table(cells), "",
        "## Cells below 0.95", "", short_cells(cells), ""])
