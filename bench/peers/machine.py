"""The machine that is measured on, and the least time that it needs for a collective."""

import json
import os
import platform
import subprocess

import network


def describe():
    model = "unknown processor"
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "tcp_congestion_control": network.read_setting(),
    }


def measure_limit(program, enter):
    """What machine_limit prints, or None where it cannot run."""
    try:
        done = subprocess.run([program], capture_output=True, text=True, timeout=120, preexec_fn=enter, check=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def bytes_on_wire(collective, ranks, size):
    """What all ranks together must send, for buffers of which the larger has `size` bytes."""
    if collective == "allreduce":
        return 2 * (ranks - 1) * size
    if collective in ("gather", "scatter", "gather_v", "scatter_v"):
        return (ranks - 1) * size / ranks
    if collective == "sendrecv":
        return ranks * size
    return (ranks - 1) * size


def bytes_in_memory(collective, ranks, size):
    """What all ranks together must read and write when each sees the others' buffers."""
    if collective in ("allreduce", "alltoall", "alltoall_v", "sendrecv", "scan", "exscan"):
        return 2 * ranks * size
    if collective in ("reduce", "reduce_scatter", "allgather", "reduce_scatter_v", "allgather_v"):
        return (ranks + 1) * size
    if collective == "broadcast":
        return ranks * size
    return 2 * size


def limit_us(limit, transport, collective, ranks, size):
    """The least time in microseconds, or None. One message's latency, or all bytes at the best rate of all cores."""
    if limit is None or ranks < 2:
        return None
    if transport == "tcp":
        rate = max(limit["tcp_GBps_one_way"], limit["tcp_GBps_both_ways"])
        return max(limit["tcp_us"], bytes_on_wire(collective, ranks, size) / rate / 1e3)
    rate = max(limit["sum_GBps_all_cores"], limit["copy_GBps_all_cores"])
    return max(limit["flag_us"], bytes_in_memory(collective, ranks, size) / rate / 1e3)


def limit_text(limit):
    if limit is None:
        return "The machine's limit could not be measured."
    return (f"This machine ({limit['cores']} cores): copy {limit['copy_GBps_one_core']:.1f} GB/s on one core and "
            f"{limit['copy_GBps_all_cores']:.1f} on all, sum of two vectors {limit['sum_GBps_one_core']:.1f} and "
            f"{limit['sum_GBps_all_cores']:.1f} (bytes read and written, 64 MiB vectors); a cache line to another core "
            f"{limit['flag_us']:.2f} µs; loopback TCP {limit['tcp_GBps_one_way']:.1f} GB/s one way, "
            f"{limit['tcp_GBps_both_ways']:.1f} both ways together, {limit['tcp_us']:.1f} µs one way.")
