"""PyTorch on Hocket: importing this package registers the backend "hocket" of torch.distributed.

    import hocket_torch
    torch.distributed.init_process_group("hocket")
"""
import functools
import inspect
import os
import weakref

import torch  # before the module below, which needs its libraries
import torch.distributed as dist

from hocket_torch import _C

__all__ = ["abort", "empty", "version"]


def version():
    """The version of the Hocket library."""
    return _C.version()


def abort(group=None, reason="the program called hocket_torch.abort"):
    """Ends everything that is pending on the group, or called on it later, with an error on all ranks."""
    _C.abort(_backend_of(group or dist.group.WORLD), reason)


def empty(*size, dtype=None):
    """A tensor of zeros in memory that the ranks of a host can map, so that collectives between them need no copies if every
    rank's tensor is like this. Meant for tensors that are made once: making one takes as long as touching all its pages."""
    sizes = list(size[0]) if len(size) == 1 and not isinstance(size[0], int) else list(size)
    return _C.empty(sizes, torch.empty(0, dtype=dtype))


def autoload():
    """What PyTorch 2.5 and later call when torch is imported, or the backend is asked for; importing this module was all."""


def _create(options, group_options):
    if group_options is not None:
        raise RuntimeError("the backend hocket takes no pg_options")
    name = options.group_id or "default"
    return _C.create(options.store, options.group_rank, options.group_size, options.timeout, f"torch/{name}")


def _register():
    kwargs = {"extended_api": True}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        kwargs["devices"] = ["cpu", "cuda"]
    dist.Backend.register_backend("hocket", _create, **kwargs)


def _handle_of_current_stream(device):
    """The CUstream behind torch's current stream of that GPU. The module in C++ asks once for each group and device."""
    if torch.version.hip:
        raise RuntimeError("the backend hocket takes memory of NVIDIA's GPUs only, not of AMD's")
    return torch.cuda.current_stream(device).cuda_stream


def _backend_of(group):
    """What carries out a group's calls on the CPU: in PyTorch 1.13 the group itself, in PyTorch 2 one of its backends."""
    backend = group._get_backend(torch.device("cpu")) if hasattr(group, "_get_backend") else group
    # What TORCH_DISTRIBUTED_DEBUG=DETAIL puts round it
    return getattr(backend, "wrapped_pg", backend)


def _admit_monitored_barrier():
    """torch.distributed.monitored_barrier lets Gloo alone pass; it lets groups of this backend pass, too, from now on."""
    original = dist.monitored_barrier

    @functools.wraps(original)
    def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
        if group is dist.GroupMember.NON_GROUP_MEMBER or not _is_ours(group):
            return original(group, timeout, wait_all_ranks)
        chosen = group or dist.group.WORLD
        limit = dist.distributed_c10d.default_pg_timeout if timeout is None else timeout
        return chosen.monitored_barrier(limit, wait_all_ranks=wait_all_ranks)

    dist.monitored_barrier = dist.distributed_c10d.monitored_barrier = monitored_barrier


def _register_buckets():
    """DistributedDataParallel's buckets, which a Reducer allocates when it is made and once more after the first step, lie in
    memory that peers can map. TORCH_HOCKET_PLAIN_BUCKETS=1 leaves them where torch puts them."""
    reducer = getattr(dist, "Reducer", None)
    if reducer is None or os.environ.get("TORCH_HOCKET_PLAIN_BUCKETS", "0") == "1":
        return
    make, rebuild = reducer.__init__, reducer._rebuild_buckets
    ours = weakref.WeakSet()

    def registered(call, *arguments, **options):
        _C.register_allocations(True)
        try:
            return call(*arguments, **options)
        finally:
            _C.register_allocations(False)

    @functools.wraps(make)
    def __init__(self, *arguments, **options):
        group = options.get("process_group", arguments[3] if len(arguments) > 3 else None)
        if not _is_ours(group):
            return make(self, *arguments, **options)
        registered(make, self, *arguments, **options)
        ours.add(self)

    @functools.wraps(rebuild)
    def _rebuild_buckets(self):
        return registered(rebuild, self) if self in ours else rebuild(self)

    reducer.__init__, reducer._rebuild_buckets = __init__, _rebuild_buckets


def _is_ours(group):
    try:
        return _backend_of(group or dist.group.WORLD).name() == "hocket"
    except (AttributeError, RuntimeError, ValueError):  # not a group that torch.distributed knows
        return False


_register()
_register_buckets()
_admit_monitored_barrier()
