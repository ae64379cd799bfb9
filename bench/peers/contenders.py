"""What is compared: Hocket and its peers, each as a command that writes the rows of hocket-bench as JSON."""

import os
import shlex
from dataclasses import dataclass, field

TITLES = {"hocket": "Hocket", "openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo"}
PACKAGES = {"openmpi": "libopenmpi-dev openmpi-bin", "mpich": "libmpich-dev mpich", "gloo": "libgloo-dev"}


@dataclass
class Contender:
    """A library in one setting. Several contenders of one library: its best one counts."""

    library: str
    control: str = ""  # the congestion control that it runs under; empty: no TCP, or it chooses for itself
    program: str = ""
    algorithms: list = field(default_factory=list)  # those worth another round; empty: what the program chooses
    environment: dict = field(default_factory=dict)
    launcher: list = field(default_factory=list)  # "{ranks}" and "{per_host}" stand for these numbers
    flags: list = field(default_factory=list)

    @property
    def title(self):
        return TITLES[self.library] + (f" ({self.control})" if self.control else "")

    def command(self, options, ranks, size, seconds, json_file, pacer):
        numbers = {"ranks": ranks, "per_host": ranks // options.hosts}
        command = [part.format(**numbers) for part in self.launcher] + [self.program, options.collective]
        command += ["-b", str(size), "-e", str(size), "--seconds", str(seconds)]
        command += ["--placement", options.placement, "--transport", options.transport, "--json", json_file]
        command += ["--offset", str(options.offset)]
        command += ["-w", str(options.warmup), "--warmup-seconds", str(options.warmup_seconds)] + self.flags
        if options.fresh:
            command += ["--fresh", "--pacer", pacer]
        if self.library in ("hocket", "gloo") and not self.launcher:
            command += ["--ranks", str(ranks)]
        if self.algorithms:
            command += ["--algorithm", ",".join(self.algorithms)]
        return command


def open_mpi(program, tcp):
    # Launched as root in containers and on machines with fewer cores than ranks.
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    launcher = ["mpirun.openmpi", "--oversubscribe", "-n", "{ranks}"]
    if tcp:
        launcher += ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]
        launcher += ["--mca", "oob_tcp_if_include", "lo"]
    return {"program": program, "environment": environment, "launcher": launcher}


def mpich(program, tcp):
    environment = {}
    launcher = ["mpirun.mpich", "-localhost", "127.0.0.1", "-n", "{ranks}"]
    if tcp:
        # Both devices of MPICH, UCX (Debian's) and libfabric, and no shared memory beside them.
        environment = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo", "FI_PROVIDER": "tcp", "MPIR_CVAR_NOLOCAL": "1"}
    return {"program": program, "environment": environment, "launcher": launcher}


def gloo(program, _tcp):
    return {"program": program}


def on_hosts(options, peers_folder, hosts):
    """Of those that ranks on several hosts are compared with there is one."""
    program = os.path.join(peers_folder, "peer-openmpi")
    return [Contender("hocket", "", options.hocket, launcher=hosts.hocket(options.hocket),
                      flags=["--memory", options.memory] + shlex.split(options.hocket_flags)),
            Contender("openmpi", "", program, environment=hosts.environment(), launcher=hosts.open_mpi())]


MAKERS = {"openmpi": open_mpi, "mpich": mpich, "gloo": gloo}


def find_contenders(options, peers_folder, networks):
    """All contenders that can run here, Hocket first, and a line for each that cannot."""
    tcp = options.transport == "tcp"
    contenders, notes = [], []
    if os.access(options.hocket, os.X_OK):
        flags = ["--memory", options.memory] + shlex.split(options.hocket_flags)
        contenders.append(Contender("hocket", "", options.hocket, flags=flags))
    else:
        notes.append(f"Hocket is left out: there is no program {options.hocket}. Build it, or say where with --hocket.")
    for library in options.peers:
        program = os.path.join(peers_folder, f"peer-{library}")
        if library == "gloo" and not tcp:
            notes.append("Gloo is left out: it has no shared-memory transport.")
        elif not os.access(program, os.X_OK):
            notes.append(f"{TITLES[library]} is left out: it is not installed (Debian: {PACKAGES[library]}).")
        else:
            settings = MAKERS[library](program, tcp)
            for control in networks.controls if tcp else [""]:
                contenders.append(Contender(library, control, **settings))
    return contenders, notes
