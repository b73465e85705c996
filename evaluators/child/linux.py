"""The system calls that the standard library does not have, by ctypes."""

from __future__ import annotations

import ctypes
import os
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION = 0x20080522
_SYS_MOUNT_SETATTR = 442
_AT_RECURSIVE = 0x8000
_MOUNT_FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
_libc.umount2.argtypes = [ctypes.c_char_p, ctypes.c_int]
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_libc.syscall.restype = ctypes.c_long


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _prctl(option: int, value: int, what: str) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0), what)


def die_with_parent(signal: int) -> None:
    """Ask for `signal` when the thread that started this process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal, "PR_SET_PDEATHSIG")


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "PR_SET_CHILD_SUBREAPER")


def set_dumpable(value: bool) -> None:
    """Say whether processes of the same user may look into this one."""
    _prctl(_PR_SET_DUMPABLE, int(value), "PR_SET_DUMPABLE")


def no_new_privileges() -> None:
    """Make setuid programs powerless from here on."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")


def drop_bounding_set() -> None:
    """See to it that no later `exec` can gain a capability."""
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            return


def drop_capabilities() -> None:
    """Give up every capability of this process."""
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, b"\0" * 24), "capset")


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount something, or change a mount."""
    values = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _check(_libc.mount(values[0], values[1], values[2], flags, values[3]), f"mount {target}")


def umount(target: str) -> None:
    """Detach a mount at once, in use or not."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def bind(source: str, target: str) -> None:
    """Show `source` at `target` as well."""
    mount(source, target, None, MS_BIND | MS_REC)


def remount(target: str, add: int = 0, clear: int = 0) -> None:
    """Change the flags of one mount and keep its others, which may be locked."""
    flags = (os.statvfs(target).f_flag & _MOUNT_FLAGS | add) & ~clear
    mount(None, target, None, MS_REMOUNT | MS_BIND | flags)


def restrict_all_mounts() -> bool:
    """Make every mount read-only, without setuid and without devices; return whether all of them obeyed."""
    attributes = struct.pack("QQQQ", MS_RDONLY | MS_NOSUID | MS_NODEV, 0, 0, 0)
    result = _libc.syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_int(-1),
        ctypes.c_char_p(b"/"),
        ctypes.c_uint(_AT_RECURSIVE),
        ctypes.c_char_p(attributes),
        ctypes.c_size_t(len(attributes)),
    )
    return result == 0 or _restrict_one_by_one()


def _restrict_one_by_one() -> bool:
    """Do the same on kernels without mount_setattr; a mount covered by another cannot be reached anyway."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        targets = [line.split(" ")[4] for line in table]
    complete = True
    for target in targets:
        path = (
            target.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
        )
        try:
            remount(path, add=MS_RDONLY | MS_NOSUID | MS_NODEV)
        except OSError:
            complete = False
    return complete
