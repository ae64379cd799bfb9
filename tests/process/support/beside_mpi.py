"""A rank that uses Hocket and MPI: makes a communicator before MPI_Init or after it, and takes both to their end.

Arguments: libhocket, libmpi, and "before", "after" or "alone" (without MPI); a file for which it waits meanwhile, if it is
named. Prints "rank: fine"."""

import ctypes
import os
import sys
import time

hocket = ctypes.CDLL(sys.argv[1])
hocket.hocket_last_error.restype = ctypes.c_char_p


def create_and_meet():
    communicator = ctypes.c_void_p()
    if hocket.hocket_comm_create(ctypes.byref(communicator), None) != 0:
        sys.exit(hocket.hocket_last_error().decode())
    assert hocket.hocket_barrier(communicator, None, None) == 0
    return communicator


def meet_by_mpi(mpi):
    try:
        world = ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))  # of Open MPI
    except ValueError:
        world = 0x44000000  # of MPICH
    assert mpi.MPI_Barrier(ctypes.c_void_p(world)) == 0


when = sys.argv[3]
communicators = [create_and_meet()] if when != "after" else []
if communicators and os.fork() == 0:
    sys.exit()  # a child ends and must not take its parent's leave of the launcher
if communicators:
    os.wait()
if when != "alone":
    library = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL)
    assert library.MPI_Init(None, None) == 0
    meet_by_mpi(library)
communicators += [create_and_meet()]
until = time.monotonic() + 60
while sys.argv[4:] and not os.path.exists(sys.argv[4]) and time.monotonic() < until:
    time.sleep(0.02)
for one in communicators:
    assert hocket.hocket_barrier(one, None, None) == 0
if when != "alone":
    meet_by_mpi(library)
    assert library.MPI_Finalize() == 0
for one in communicators:
    hocket.hocket_comm_destroy(one)
print(f"rank {os.environ.get('PMI_RANK') or os.environ.get('OMPI_COMM_WORLD_RANK')}: fine", flush=True)
