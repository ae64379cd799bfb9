"""Which sizes are measured, and by how few runs of a program."""

# Their larger buffer holds a block for each rank.
OF_BLOCKS = ("reduce_scatter", "allgather", "gather", "scatter", "alltoall", "reduce_scatter_v", "allgather_v", "gather_v",
             "scatter_v", "alltoall_v")


def possible(collective, ranks, sizes):
    """The sizes that are measured: none where a rank's block would have no element, which takes no time."""
    if collective == "barrier":
        return [0]
    least = 4 * ranks if collective in OF_BLOCKS else 4
    return sorted({max(size, least) for size in sizes})


def geometric_runs(sizes):
    """Cuts ascending sizes into runs (low, high, factor) that a benchmark sweeps in one go."""
    runs = []
    at = 0
    while at < len(sizes):
        end = at + 1
        if end < len(sizes) and sizes[at] and sizes[end] % sizes[at] == 0:
            factor = sizes[end] // sizes[at]
            while end < len(sizes) and sizes[end] == sizes[end - 1] * factor:
                end += 1
            # Two sizes with a wide gap may only be the end of one run and the start of the next.
            if end - at == 2 and end + 1 < len(sizes) and sizes[end] * sizes[end - 2] != sizes[end - 1] ** 2:
                end = at + 1
        factor = sizes[at + 1] // sizes[at] if end - at > 1 else 2
        runs.append((sizes[at], sizes[end - 1], factor))
        at = end
    return runs
