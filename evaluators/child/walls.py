"""The walls around an evaluation, made of namespaces, without any external tool.

Problem: a candidate is untrusted code that runs as the user. It must not see the campaign (journal,
store, holdout) or the user's secrets, change anything that outlives it, reach other processes or the
network.

Choice: the server is the first process of a PID namespace of its own, inside user, mount, network and IPC
namespaces. From the host's file tree it makes its own: every mount becomes read-only, without setuid and
devices (one recursive call); folders with private things are covered by empty ones (home, /run with its
sockets, temporary folders, the repository, whatever the spec hides); what an evaluation needs beneath
them (interpreter, checkout, scratch) is bound in again; /dev and /proc are fresh. An empty root with
everything needed bound into it would be tighter, but needs to know where each distribution keeps its
libraries, and breaks on those it does not know.

The order matters. Everything needed is opened before anything is covered, and bound by descriptor later.
The covers go from the outside in. The server keeps its capabilities, which hold in its namespaces only,
because it has to clean up after each evaluation; an evaluation loses them before it runs, so it can
neither undo a mount nor look into the server. User identity stays the same inside, so files keep their
owner. For a user who is root that means files of root stay writable by permission; hence read-only
mounts, /proc included (kernel settings ask for the user, not for capabilities), and a /dev with harmless
devices only.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import Any, Iterable, Mapping

from . import linux

NAMES = ("processes", "files", "home", "campaign", "ipc", "network", "proc", "devices")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_ACCELERATORS = ("nvidia", "dri", "kfd", "dxg")
_COVERED = ("/tmp", "/var/tmp", "/run", "/home", "/root")
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def enter_user_namespace() -> None:
    """Let the children of this process be the first ones of a PID namespace, with the same user inside."""
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWPID)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


class Walls:
    """The file tree and namespaces of one server; built once, cleaned before each evaluation."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._checkout: str = config["checkout"]
        self._scratch: str = config["scratch"]
        self._show: list[str] = config["show"]
        self._hide: list[str] = config["hide"]
        self._network: bool = config["network"]
        self._room: int = config["tmp_bytes"]
        self._open: dict[str, int] = {}
        self._covers: list[str] = []
        self.missing: list[str] = []
        self.shared: list[str] = []
        """Writable folders that are emptied before each evaluation."""
        self.kept: list[str] = []
        """Mount points beneath them."""

    def build(self, sources: Iterable[str]) -> dict[str, int]:
        """Put up the walls; return descriptors of `sources`, which may be covered afterwards.

        Raises:
            OSError: The walls cannot be had here.
        """
        linux.unshare(linux.CLONE_NEWNS)
        linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
        self._separate_network()
        devices = self._devices()
        self._open_all([*self._show, self._checkout, self._scratch, *devices, *sources])
        if not linux.restrict_all_mounts():
            self.missing.append("files")
        self._cover_and_show()
        self._make_dev(devices)
        self._make_proc()
        for path in self._covers:
            if path not in self.shared:
                linux.remount(path, add=linux.MS_RDONLY)
        linux.drop_bounding_set()
        linux.set_dumpable(False)
        found = {path: self._open.pop(path) for path in sources if path in self._open}
        for descriptor in self._open.values():
            os.close(descriptor)
        return found

    def _separate_network(self) -> None:
        if self._network:
            return
        try:
            linux.unshare(linux.CLONE_NEWNET)
        except OSError:
            self.missing.append("network")
            return
        bring_up_loopback()

    def _devices(self) -> list[str]:
        names = [name for name in _DEVICES if os.path.exists(f"/dev/{name}")]
        names += sorted(name for name in os.listdir("/dev") if name.startswith(_ACCELERATORS))
        return [f"/dev/{name}" for name in names]

    def _open_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                self._open.setdefault(path, os.open(path, os.O_PATH | os.O_CLOEXEC))
            except OSError:
                if path in (self._checkout, self._scratch):
                    raise

    def _cover_and_show(self) -> None:
        shown = [path for path in dict.fromkeys(self._show) if path in self._open]
        writable = [self._checkout, self._scratch]
        covers = [path for path in dict.fromkeys([*_COVERED, *self._hide]) if path not in (*writable, "/")]
        covers = [path for path in covers if path in self._hide or path not in shown]
        steps = [(path, "cover") for path in covers]
        steps += [(path, "show") for path in shown if _beneath(path, covers)]
        steps += [(path, "write") for path in writable]
        for path, kind in sorted(steps, key=lambda step: step[0].count("/")):
            if kind == "cover":
                self._cover(path)
            else:
                self._bind(path, writable=kind == "write")

    def _cover(self, path: str) -> None:
        if not os.path.isdir(path) or os.path.islink(path):
            return
        shared = path in ("/tmp", "/var/tmp")
        mode, room = ("1777", self._room) if shared else ("0755", 1 << 20)
        linux.mount("tmpfs", path, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode={mode},size={room}")
        self._covers.append(path)
        if shared:
            self.shared.append(path)

    def _bind(self, path: str, writable: bool) -> None:
        source = f"/proc/self/fd/{self._open[path]}"
        if os.path.isdir(source):
            os.makedirs(path, exist_ok=True)
        elif not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _write(path, "", os.O_CREAT)
        linux.bind(source, path)
        if writable:
            linux.remount(path, clear=linux.MS_RDONLY)
        self.kept.append(path)

    def _make_dev(self, devices: list[str]) -> None:
        linux.mount("tmpfs", "/dev", "tmpfs", linux.MS_NOSUID, "mode=0755,size=65536")
        for path in devices:
            source = f"/proc/self/fd/{self._open[path]}"
            if os.path.isdir(source):
                os.mkdir(path)
            else:
                _write(path, "", os.O_CREAT)
            linux.bind(source, path)
            linux.remount(path, clear=linux.MS_NODEV)
        for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")
        os.mkdir("/dev/shm")
        linux.mount(
            "tmpfs", "/dev/shm", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode=1777,size={self._room}"
        )
        self.shared.append("/dev/shm")
        self._make_terminals()
        linux.remount("/dev", add=linux.MS_RDONLY)

    def _make_terminals(self) -> None:
        os.mkdir("/dev/pts")
        os.symlink("pts/ptmx", "/dev/ptmx")
        flags = linux.MS_NOSUID | linux.MS_NOEXEC
        try:
            linux.mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620")
        except OSError:
            self.missing.append("terminals")

    def _make_proc(self) -> None:
        flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
        try:
            linux.mount("proc", "/proc", "proc", flags)
        except OSError:
            self.missing.append("proc")
            return
        try:
            _write("/proc/sys/user/max_user_namespaces", "0")
        except OSError:
            self.missing.append("nested namespaces")
        linux.remount("/proc", add=linux.MS_RDONLY)


def _beneath(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(folder + "/") or path == folder for folder in folders)


def _write(path: str, text: str, flags: int = 0) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def bring_up_loopback() -> None:
    """Let programs of this network namespace reach each other."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENODEV):
                raise
