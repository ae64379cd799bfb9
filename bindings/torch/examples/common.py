"""What all examples share: options, starting the ranks, and checks.

An example runs under any launcher (torchrun, mpirun, srun); without one it starts its ranks itself."""

import argparse
import datetime
import math
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

TIMEOUT = datetime.timedelta(seconds=60)
# By launcher: where it says which rank this is, and how many there are.
LAUNCHERS = [("RANK", "WORLD_SIZE"), ("HOCKET_RANK", "HOCKET_WORLD_SIZE"),
             ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")]


def options(description, ranks, **more):
    """Options of an example. `more` adds its own: name=(default, what it means)."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--backend", default="hocket", help="of torch.distributed: hocket, gloo …")
    parser.add_argument("--ranks", type=int, default=ranks, help="how many to start where no launcher has")
    parser.add_argument("--data", help="folder with the files of MNIST or CIFAR-10; without it, small data is made")
    for name, (default, text) in more.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default, help=text)
    return parser.parse_args()


def load(backend):
    if backend == "hocket":
        import hocket_torch  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import,import-error
    torch.set_num_threads(1)


def launched():
    return any(rank in os.environ and size in os.environ for rank, size in LAUNCHERS)


def join(backend):
    """Joins the process group that the launcher's variables describe."""
    load(backend)
    rank, size = next(pair for pair in LAUNCHERS if pair[0] in os.environ and pair[1] in os.environ)
    os.environ.update(RANK=os.environ[rank], WORLD_SIZE=os.environ[size])
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    dist.init_process_group(backend, timeout=TIMEOUT)


def start_one(rank, main, arguments, folder):
    """What each process does that an example starts itself."""
    load(arguments.backend)
    dist.init_process_group(arguments.backend, init_method=f"file://{folder}/meeting", rank=rank,
                            world_size=arguments.ranks, timeout=TIMEOUT)
    main(arguments)
    dist.destroy_process_group()


def run(main, arguments, method="fork"):
    """Calls main(arguments) on every rank."""
    if launched():
        join(arguments.backend)
        main(arguments)
        dist.destroy_process_group()
    else:
        with tempfile.TemporaryDirectory() as folder:
            mp.start_processes(start_one, (main, arguments, folder), nprocs=arguments.ranks, start_method=method)
        print(f"{os.path.basename(sys.argv[0])}: well done by {arguments.ranks} ranks on {arguments.backend}", flush=True)


def say(*text):
    """Prints on rank 0."""
    if dist.get_rank() == 0:
        print(*text, flush=True)


def check(good, what):
    """Ends this rank, and with it the example, if something is wrong."""
    if not good:
        raise SystemExit(f"rank {dist.get_rank()}: wrong: {what}")


def check_close(found, expected, what, tolerance=1e-4):
    found, expected = torch.as_tensor(found), torch.as_tensor(expected)
    check(torch.allclose(found, expected, rtol=tolerance, atol=tolerance), f"{what}: {found}, not {expected}")


def check_same_losses(losses, alone, tolerance):
    """The mean over the ranks of each step's loss is that of one process, which has learnt something."""
    for index, loss in enumerate(losses):
        dist.all_reduce(loss)
        check_close(loss / dist.get_world_size(), alone[index], f"the loss of step {index}", tolerance)
    check(all(math.isfinite(loss) for loss in alone) and alone[-1] < alone[0], "it learnt nothing")


def check_equal_on_all_ranks(model):
    """The weights are the same on all ranks, bit by bit."""
    mine = flat(model)
    first = mine.clone()
    dist.broadcast(first, 0)
    check(torch.equal(mine, first), "the weights differ from those of rank 0")


def flat(model):
    """All weights in one tensor."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def share(tensor):
    """This rank's part of a batch that the ranks divide evenly."""
    return tensor.chunk(dist.get_world_size())[dist.get_rank()]
