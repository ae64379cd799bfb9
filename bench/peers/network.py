"""Network namespaces with nothing but a loopback interface, one for each congestion control.

A program in such a namespace uses the congestion control that was the host's default when the namespace was made. So
the host's setting changes for the moment of making only, and what a program sends can be read off its loopback
interface.
"""

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
SETTING = "/proc/sys/net/ipv4/tcp_congestion_control"

libc = ctypes.CDLL(None, use_errno=True)


def read_setting(path=SETTING):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def check(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def make_namespace():
    """A descriptor of a new namespace. The caller stays where it is."""
    with open("/proc/self/ns/net") as home:
        check(libc.unshare(CLONE_NEWNET), "unshare")
        try:
            raise_loopback()
            return os.open("/proc/self/ns/net", os.O_RDONLY)
        finally:
            check(libc.setns(home.fileno(), CLONE_NEWNET), "setns")


class Networks:
    """Where programs run over TCP: `controls` maps congestion controls to namespaces, or the default to None (here)."""

    def __init__(self):
        self.default = read_setting()
        self.controls = {self.default: None}
        self.notes = []

    def open(self):
        try:
            self.controls[self.default] = make_namespace()
        except OSError as error:
            self.notes.append(f"No network namespaces ({error}): all run under {self.default}, the default, only.")
            return
        if self.default != "cubic":
            self.open_cubic()

    def open_cubic(self):
        try:
            with open(SETTING, "w") as file:
                file.write("cubic")
        except OSError as error:
            self.notes.append(f"No right to choose cubic ({error}): peers run under {self.default}, the default, only.")
            return
        try:
            self.controls["cubic"] = make_namespace()
        finally:
            with open(SETTING, "w") as file:
                file.write(self.default)

    def enter(self, control):
        """A function that moves a child process there before it starts its program, or None. Without a congestion
        control: where the host's default holds."""
        namespace = self.controls.get(control or self.default)
        if namespace is None:
            return None
        return lambda: check(libc.setns(namespace, CLONE_NEWNET), "setns")
