"""The tables that bench/compare prints, and the JSON that it writes."""

import contenders
import machine
import sizes
from results import BURSTS


def size_text(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def number(value):
    """Three digits that count: 0.853, 9.87, 135, 48,400."""
    if value is None:
        return "–"
    if value >= 100:
        digits = 10 ** max(len(str(int(value))) - 3, 0)
        return f"{round(value / digits) * digits:,}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def settings_text(results, ranks, of_sizes, library):
    """What of a library was best: "cubic ring up to 16 KiB, bbr up to 64 MiB". Empty: it says nothing."""
    parts = []
    for size in of_sizes:
        cell = results.best(ranks, size, library)
        if cell is None:
            continue
        transport = cell.transport if library == "hocket" else ""  # only Hocket reports what it used
        setting = " ".join(part for part in (cell.control, transport, cell.algorithm)
                           if part not in ("", "default", "auto"))
        if not parts or parts[-1][0] != setting:
            parts.append([setting, size])
        parts[-1][1] = size
    if all(not setting for setting, _ in parts):
        return ""
    return ", ".join(f"{setting or 'default'} up to {size_text(size)}" for setting, size in parts)


def table(results, options, ranks, libraries, limit):
    """A table in Markdown, and below it the settings that were best."""
    peers = [library for library in libraries if library != "hocket"]
    with_hocket = "hocket" in libraries
    head = ["size"] + [contenders.TITLES[library] for library in libraries]
    if with_hocket:
        head += ["ratio", "CPU Hocket"]
    head += ["CPU best peer", "limit"]
    lines = []
    measured = sizes.possible(options.collective, ranks, options.sizes)
    for size in measured:
        cells = {library: results.best(ranks, size, library) for library in libraries}
        best_peer, best = results.best_of(ranks, size, peers)
        line = [size_text(size)]
        line += [number(cells[library].time_us if cells[library] else None) for library in libraries]
        if with_hocket:
            hocket = cells["hocket"]
            ratio = results.ratio(ranks, size)
            line.append(f"{ratio:.2f}" if ratio else "–")
            line.append(number(hocket.cpu_us if hocket else None))
        line.append(f"{number(best.cpu_us)} ({contenders.TITLES[best_peer]})" if best else "–")
        line.append(number(machine.limit_us(limit, options.transport, options.collective, ranks, size)))
        lines.append(line)
    text = aligned([head] + lines)
    for library in libraries:
        settings = settings_text(results, ranks, measured, library)
        if settings:
            text += f"\n{contenders.TITLES[library]}: {settings}."
    return text


def aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def line(row):
        return "| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    return "\n".join([line(rows[0]), rule] + [line(row) for row in rows[1:]])


def subject(options):
    data = "fresh inputs" if options.fresh else "back to back"
    behind = f" {options.offset} bytes behind a page" if options.offset else ""
    where = options.transport if options.hosts == 1 else f"{options.hosts} hosts"
    return f"{options.collective}, float32 sum, {options.placement} place, {data}, {where}, {options.memory} memory{behind}"


def heading(options, ranks):
    each = "mean" if options.collective in BURSTS else "median"
    return f"{subject(options)}, {ranks} ranks; µs, median of {options.rounds} rounds' {each}s"


def best_cells(results, options, libraries):
    cells = []
    for ranks in options.ranks:
        for size in sizes.possible(options.collective, ranks, options.sizes):
            for library in libraries:
                cell = results.best(ranks, size, library)
                if cell:
                    cells.append({"ranks": ranks, "bytes": size, "library": library, "time_us": cell.time_us,
                                  "cpu_us_per_op": cell.cpu_us, "congestion_control": cell.control,
                                  "transport": cell.transport, "algorithm": cell.algorithm, "rounds": cell.rounds,
                                  **({"ratio": results.ratio(ranks, size)} if library == "hocket" else {})})
    return cells


def as_json(results, options, libraries, versions, limit, host, loads, notes):
    rounds = [{"ranks": ranks, "bytes": size, "library": library, "congestion_control": control, "rows": rows}
              for (ranks, size, library, control, _), rows in results.rows.items()]
    return {"collective": options.collective, "transport": options.transport, "memory": options.memory,
            "placement": options.placement, "fresh": options.fresh, "offset": options.offset, "host": host,
            "load": loads, "limit": limit, "versions": versions, "notes": notes, "measured": rounds,
            "best": best_cells(results, options, libraries)}
