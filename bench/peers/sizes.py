"""Which sizes are measured."""

# Their larger buffer holds a block for each rank.
OF_BLOCKS = ("reduce_scatter", "allgather", "gather", "scatter", "alltoall", "reduce_scatter_v", "allgather_v", "gather_v",
             "scatter_v", "alltoall_v")


def possible(collective, ranks, sizes):
    """The sizes that are measured: none where a rank's block would have no element, which takes no time."""
    if collective == "barrier":
        return [0]
    least = 4 * ranks if collective in OF_BLOCKS else 4
    return sorted({max(size, least) for size in sizes})
