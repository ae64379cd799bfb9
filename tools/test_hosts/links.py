"""Namespaces of test hosts, and the links between them: made, slowed down, made lossy."""

import os
import re
import subprocess
from pathlib import Path

from network import CLONE_NEWNET, check, libc, make_namespace

from test_hosts.sets import Problem, start_time

CLONE_NEWUSER = 0x10000000
RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(bit|kbit|mbit|gbit)")
BITS = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
FAMILIES = ("ipv4", "ipv6", "link-local")


def path_of(state, place):
    """The namespace of a host (its number) or of the switches ("switch")."""
    return f"/proc/{state['holder']}/fd/{state['namespaces'][str(place)]}"


def move_into(state, place):
    if state["user_namespace"]:
        with open(f"/proc/{state['holder']}/ns/user") as users:
            check(libc.setns(users.fileno(), CLONE_NEWUSER), "setns to the user namespace")
    with open(path_of(state, place)) as network:
        check(libc.setns(network.fileno(), CLONE_NEWNET), "setns")


def become_root_of_own():
    """A user namespace in which this process may do everything. Only where it is not root already."""
    user, group = os.geteuid(), os.getegid()
    check(libc.unshare(CLONE_NEWUSER), "making a user namespace (and this user is not root)")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    check(libc.unshare(CLONE_NEWNET), "unshare")  # the machine's own network cannot be returned to


def run_in(namespace, command, commands_in=None):
    """Runs a program of iproute2 in a namespace, given by its descriptor."""
    enter = lambda: check(libc.setns(namespace, CLONE_NEWNET), "setns")  # noqa: E731
    ran = subprocess.run(command, input=commands_in, text=True, capture_output=True, preexec_fn=enter, check=False)
    if ran.returncode != 0:
        raise Problem(f"{' '.join(command)} failed: {ran.stderr.strip()}")


def port_of(host, network):
    return f"h{host}n{network}"


def shape(device, rate):
    """The tc command that limits what leaves by a device; its queue holds 10 ms, as a modest switch's."""
    number, unit = RATE.fullmatch(rate).groups()
    bytes_per_ms = float(number) * BITS[unit] / 8000
    burst = max(int(2 * bytes_per_ms), 16384)
    limit = max(int(10 * bytes_per_ms), 8 * burst)
    return f"qdisc replace dev {device} root tbf rate {rate} burst {burst} limit {limit}"


def drop(device, percent):
    """The tc command that drops a share of what arrives at a device; 100: everything."""
    if percent >= 100:
        program = "1,6 0 0 2"  # return TC_ACT_SHOT
    else:
        # Load a random number; below the threshold return TC_ACT_SHOT, else TC_ACT_UNSPEC, which lets the packet go on.
        threshold = max(1, int(percent / 100 * 2**32))
        program = f"4,32 0 0 4294963256,53 0 1 {threshold},6 0 0 4294967295,6 0 0 2"
    return f"filter replace dev {device} ingress prio 1 handle 1 protocol all bpf da bytecode '{program}'"


def build_switches(switch, hosts, networks):
    lines = []
    for network in range(networks):
        lines.append(f"link add name net{network} type bridge forward_delay 0 mcast_snooping 0")
        lines.append(f"link set dev net{network} up")
    run_in(switch, ["ip", "-batch", "-"], "\n".join(lines))


def build_host(switch, namespace, host, options):
    pid = os.getpid()
    joins, raises, addresses = [], ["link set dev lo up"], []
    for network in range(options.networks):
        port, device = port_of(host, network), f"eth{network}"
        joins += [
            f"link add name {port} mtu {options.mtu} type veth peer name {device} mtu {options.mtu} "
            f"netns /proc/{pid}/fd/{namespace}",
            f"link set dev {port} master net{network} up",
        ]
        raises += [f"link set dev {device} addrgenmode none", f"link set dev {device} up"]
        for family, address in (
            ("ipv4", f"10.77.{network}.{host + 1}/24"),
            ("ipv6", f"fd77:{network}::{host + 1:x}/64"),
            ("link-local", f"fe80::77:{network}:{host + 1:x}/64"),
        ):
            if family in options.families:
                addresses.append(f"address add {address} dev {device} {'' if family == 'ipv4' else 'nodad'}")
    run_in(switch, ["ip", "-batch", "-"], "\n".join(joins))
    run_in(namespace, ["ip", "-batch", "-"], "\n".join(raises + addresses))
    at_switch = [f"qdisc add dev {port_of(host, network)} clsact" for network in range(options.networks)]
    at_host = [f"qdisc add dev eth{network} clsact" for network in range(options.networks)]
    if options.rate:
        at_switch += [shape(port_of(host, network), options.rate) for network in range(options.networks)]
        at_host += [shape(f"eth{network}", options.rate) for network in range(options.networks)]
    run_in(switch, ["tc", "-batch", "-"], "\n".join(at_switch))
    run_in(namespace, ["tc", "-batch", "-"], "\n".join(at_host))


def build(options):
    """Makes all namespaces and links; what is to be remembered of the set."""
    user_namespace = os.geteuid() != 0
    if user_namespace:
        become_root_of_own()
    switch = make_namespace()
    build_switches(switch, options.hosts, options.networks)
    namespaces = {"switch": switch}
    for host in range(options.hosts):
        namespaces[str(host)] = make_namespace()
        build_host(switch, namespaces[str(host)], host, options)
    return {
        "holder": os.getpid(),
        "holder_started": start_time(os.getpid()),
        "owner": options.owner,
        "user_namespace": user_namespace,
        "namespaces": namespaces,
        "hosts": options.hosts,
        "networks": options.networks,
        "families": options.families,
        "rate": options.rate,
    }
