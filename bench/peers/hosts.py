"""Several hosts on this machine for a comparison: network namespaces, made and joined by tools/test-hosts."""

import os
import subprocess
from pathlib import Path

TOOL = str(Path(__file__).resolve().parents[2] / "tools" / "test-hosts")


class Hosts:
    """A set of hosts that ends with this process. Ranks fill one host after the other, as many on each."""

    def __init__(self, count):
        self.count = count
        self.name = f"compare-{os.getpid()}"
        made = subprocess.run([TOOL, "make", self.name, "--hosts", str(count), "--owner", str(os.getpid())],
                              capture_output=True, text=True, check=False)
        self.problem = made.stderr.strip() if made.returncode != 0 else None

    def addresses(self):
        return [f"10.77.0.{host + 1}" for host in range(self.count)]

    def hocket(self, program):
        """The launcher of Hocket's benchmark, whose ranks are started one by one."""
        run = str(Path(program).resolve().parent / "hocket-run")
        return [run, "-n", "{ranks}", TOOL, "rank", "--per-host", "{per_host}", self.name]

    def open_mpi(self):
        """mpirun runs on the first host, and starts its daemons on the others as it would by ssh. It takes each host for
        a machine of its own, so it must be told that ranks outnumber cores and are to yield."""
        flags = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1",
                 "--mca", "btl", "tcp,vader,self", "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include",
                 "eth0", "-n", "{ranks}", "--host", ",".join(f"{address}:{{per_host}}" for address in self.addresses())]
        return [TOOL, "ssh", self.name, self.addresses()[0], "mpirun.openmpi"] + flags

    def environment(self):
        return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_plm_rsh_agent": f"{TOOL} ssh {self.name}"}
