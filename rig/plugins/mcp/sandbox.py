"""Starts a program in a sandbox, or tries from inside what a sandbox leaves open.

It is a program of its own that needs nothing but the standard library: `sandbox.py SPEC COMMAND…`. It makes
itself a view of the file system (namespaces), restricts itself further (Landlock and seccomp where the kernel
has them), and becomes the command. Numbers are those of Linux's headers.
"""

import ctypes
import fcntl
import json
import os
import resource
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

LARGEST_FILE = 1 << 30
"""The most bytes that a server may write into one file, and into files that are in memory."""

_CLONE_USER, _CLONE_NET = 0x10000000, 0x40000000
_CLONE = _CLONE_USER | 0x00020000 | 0x20000000 | 0x08000000 | 0x04000000
"""New namespaces of users, mounts, processes, System V queues, and host names."""
_BIND, _RECURSIVE, _PRIVATE, _NOSUID, _NODEV, _NOEXEC = 4096, 16384, 1 << 18, 2, 4, 8
_ATTRIBUTE_READONLY, _ATTRIBUTE_SAFE = 1, 2
_AT_FOLDER, _AT_RECURSIVE, _DETACH = -100, 0x8000, 2
_SET_DEATH_SIGNAL, _SET_SECCOMP, _DROP_CAPABILITY, _SET_NO_NEW_PRIVILEGES = 1, 22, 24, 38
_LANDLOCK_CREATE, _LANDLOCK_RULE, _LANDLOCK_RESTRICT, _MOUNT_SETATTR = 444, 445, 446, 442
_EXECUTE, _WRITE, _READ, _READ_FOLDER, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_RIGHTS = (0, 13, 14, 15, 15)
"""How many rights on files each version of Landlock knows; those after the last know 16."""
_MACHINES = {"x86_64": (0xC000003E, 155, 41, 248), "aarch64": (0xC00000B7, 41, 198, 217)}
"""The architecture's number for seccomp, and those of the calls pivot_root, socket and add_key, which
request_key and keyctl follow."""
_IO_URING = 425
"""A call that opens sockets past a filter of `socket`."""
_UNIX, _NETWORK = (1,), (2, 10, 16)
"""Families of sockets: local ones; IPv4, IPv6 and netlink."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def main(words: Sequence[str]) -> None:
    """Become the command in the sandbox that a specification describes, or print what is open in one."""
    spec = json.loads(words[0])
    if "probe" in spec:
        print(json.dumps(openings(spec["probe"])))
        return
    library = ctypes.CDLL(None, use_errno=True)
    for limit, most in ((resource.RLIMIT_FSIZE, LARGEST_FILE), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    folder = os.getcwd()
    if spec["way"] == "namespaces":
        _enter_namespaces(library, spec["network"])
        _enter_view(library, spec["readable"], spec["writable"])
        os.chdir(folder)
    if spec["way"] != "none":
        for number in range(64):
            library.prctl(_DROP_CAPABILITY, number, 0, 0, 0)
        _checked(library.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        alone = spec["way"] == "landlock"
        _restrict_files(library, spec["readable"] if alone else None, spec["writable"])
        # Without a view of its own, a server would reach every socket that has a path.
        families = (() if alone else _UNIX) + (() if alone and not spec["network"] else _NETWORK)
        _restrict_calls(library, families)
    os.execvp(words[1], list(words[1:]))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _enter_namespaces(library: Any, network: bool) -> None:
    """Go on in a child that is alone with itself; this process waits for it and ends as it does."""
    user, group = os.geteuid(), os.getegid()
    _checked(library.unshare(_CLONE | (0 if network else _CLONE_NET)))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    if child := os.fork():
        for handle in (0, 1, 2):
            os.close(handle)
        _, status = os.waitpid(child, 0)
        os._exit(max(os.waitstatus_to_exitcode(status), 0) or bool(status))
    library.prctl(_SET_DEATH_SIGNAL, 9, 0, 0, 0)
    if not network:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            fcntl.ioctl(own, 0x8914, struct.pack("16sh14x", b"lo", 1))  # the loopback is up


def _enter_view(library: Any, readable: Sequence[Sequence[str]], writable: Sequence[str]) -> None:
    """Make a root of nothing but these places, devices without a terminal, and processes of this sandbox.

    `readable` are places with the real path of each, parents first.
    """

    def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
        words = (word.encode() if word is not None else None for word in (source, target, kind))
        _checked(library.mount(*words, flags, data.encode() if data else None))

    def seal(target: str, attributes: int, flags: int = _AT_RECURSIVE) -> None:
        value = struct.pack("4Q", attributes, 0, 0, 0)
        _checked(library.syscall(_MOUNT_SETATTR, _AT_FOLDER, target.encode(), flags, value, len(value)))

    def bind(source: str, target: str) -> None:
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.exists(target):
                os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(source, target, None, _BIND | _RECURSIVE)

    def memory(target: str) -> None:
        os.makedirs(target, exist_ok=True)
        mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV, f"size={LARGEST_FILE},mode=755")

    def pivot(new: str, old: str) -> None:
        _checked(library.syscall(_MACHINES[os.uname().machine][1], new.encode(), old.encode()))

    mount("none", "/", None, _RECURSIVE | _PRIVATE)
    memory("/tmp")
    os.makedirs("/tmp/new")
    os.makedirs("/tmp/old")
    pivot("/tmp", "/tmp/old")
    os.chdir("/")
    mount("/new", "/new", None, _BIND)
    memory("/new/tmp")
    for place, real in readable:
        bind(f"/old{real}", f"/new{place}")
        seal(f"/new{place}", _ATTRIBUTE_READONLY | _ATTRIBUTE_SAFE)
    for place in writable:
        bind(f"/old{place}", f"/new{place}")
        seal(f"/new{place}", _ATTRIBUTE_SAFE)
    memory("/new/dev")
    for name in _DEVICES:
        bind(f"/old/dev/{name}", f"/new/dev/{name}")
    os.makedirs("/new/dev/shm")
    os.makedirs("/new/dev/pts")
    mount("devpts", "/new/dev/pts", "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", **{n: f"/proc/self/fd/{i}" for i, n in _STREAMS}}
    for name, target in links.items():
        os.symlink(target, f"/new/dev/{name}")
    os.makedirs("/new/proc", exist_ok=True)
    mount("proc", "/new/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    seal("/new/proc", _ATTRIBUTE_READONLY)
    _checked(library.umount2(b"/old", _DETACH))
    os.chdir("/new")
    pivot(".", ".")
    _checked(library.umount2(b".", _DETACH))
    seal("/", _ATTRIBUTE_READONLY, 0)


_STREAMS = ((0, "stdin"), (1, "stdout"), (2, "stderr"))


def landlock_version(library: Any) -> int:
    """Return the version of Landlock that the kernel has; 0 if it has none."""
    return max(int(library.syscall(_LANDLOCK_CREATE, None, 0, 1)), 0)


def _restrict_files(library: Any, readable: Sequence[Sequence[str]] | None, writable: Sequence[str]) -> None:
    """Keep to these files, if any are named, and in any case away from sockets and processes outside."""
    version = landlock_version(library)
    if version == 0 or (readable is None and version < 6):
        return
    rights = 0 if readable is None else (1 << (_RIGHTS[version] if version < len(_RIGHTS) else 16)) - 1
    attributes = struct.pack("3Q", rights, 0, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _checked(library.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0))
    places = [(place, _EXECUTE | _READ | _READ_FOLDER) for _, place in (*(readable or ()), ("", "/proc"))]
    places += [(place, rights) for place in writable]
    places += [(f"/dev/{name}", _READ | _WRITE | _TRUNCATE) for name in _DEVICES]
    for place, allowed in places if rights else ():
        with suppress(FileNotFoundError, PermissionError):
            handle = os.open(place, os.O_PATH)
            allowed &= rights if os.path.isdir(place) else rights & _OF_FILES
            rule = struct.pack("=Qi", allowed, handle)
            _checked(library.syscall(_LANDLOCK_RULE, rules, 1, rule, 0))
            os.close(handle)
    _checked(library.syscall(_LANDLOCK_RESTRICT, rules, 0))
    os.close(rules)


def _restrict_calls(library: Any, families: Sequence[int]) -> None:
    """Refuse sockets of other families, and the kernel's keyrings. Those to a virtual machine's host, and the
    ring of keys that a process inherits, know no namespaces.
    """
    architecture, _, call, add_key = _MACHINES[os.uname().machine]
    refused, unknown, allowed = 0x00050000 | 97, 0x00050000 | 38, 0x7FFF0000
    load, equal, at_least, end = 0x20, 0x15, 0x35, 0x06
    program = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (end, 0, 0, unknown),
        (load, 0, 0, 0),
        (at_least, 0, 1, 0x40000000),  # calls of x86-64 with short pointers
        (end, 0, 0, unknown),
        *(
            line
            for number in (_IO_URING, add_key, add_key + 1, add_key + 2)
            for line in ((equal, 0, 1, number), (end, 0, 0, unknown))
        ),
        (equal, 1, 0, call),
        (end, 0, 0, allowed),
        (load, 0, 0, 16),
        *((equal, len(families) - number, 0, family) for number, family in enumerate(families)),
        (end, 0, 0, refused),
        (end, 0, 0, allowed),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    filters = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    _checked(library.prctl(_SET_SECCOMP, 2, filters, 0, 0))


def openings(facts: dict[str, Any]) -> list[str]:
    """Return what a program can do here, by the names that `isolation.PROMISES` has.

    `facts` are those of the world outside: a file, a socket ("" if there can be none), a terminal, a process,
    and its namespaces by their kind, none where the system has no such thing.
    """

    def can_open(path: str, flags: int) -> bool:
        try:
            os.close(os.open(path, flags | os.O_NOCTTY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def can_do(function: Any, *words: Any) -> bool:
        try:
            function(*words)
        except OSError:
            return False
        return True

    def has(family: int, kind: int = socket.SOCK_STREAM) -> bool:
        return can_do(lambda: socket.socket(family, kind).close())

    def is_apart(kind: str) -> bool:
        return kind in outside and os.readlink(f"/proc/self/ns/{kind}") != outside[kind]

    def connects(family: int, kind: int, address: Any) -> bool:
        with socket.socket(family, kind) as own:
            return can_do(own.connect, address)

    file, process, outside = facts["file"], facts["process"], facts["namespaces"]
    is_linux = sys.platform == "linux"
    library = ctypes.CDLL(None)
    scoped = is_linux and landlock_version(library) >= 6 and facts["way"] != "none"
    kernel = ["/proc/sys/vm/swappiness", "/proc/sysrq-trigger", "/sys/power/state", "/sys/kernel/profiling"]
    kernel += ["/sys/kernel/mm/transparent_hugepage/enabled", "/dev/kmsg", "/dev/mem"]
    local = has(socket.AF_UNIX)
    seen = can_open(f"/proc/{process}/stat", os.O_RDONLY) if is_linux else can_do(os.getpgid, process)
    tried = {
        # Connecting a datagram's socket sends nothing. macOS refuses it, and not the socket itself.
        "network": has(socket.AF_INET, socket.SOCK_DGRAM)
        and connects(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9))
        and not is_apart("net"),
        "machine": has(40) or has(38, socket.SOCK_SEQPACKET),
        "writes": can_open(file, os.O_WRONLY),
        "modes": can_do(os.utime, file) or can_do(os.chmod, file, 0o600),
        "reads": can_open(file, os.O_RDONLY),
        "sockets": local
        and (
            connects(socket.AF_UNIX, socket.SOCK_STREAM, facts["socket"])
            if facts["socket"]
            else os.path.lexists(file)
        ),
        "abstract": local and is_linux and not (is_apart("net") or scoped),
        # A sandbox of macOS that allows what it does not name allows these.
        "services": not is_apart("ipc"),
        "keys": is_linux and library.syscall(_MACHINES[os.uname().machine][3] + 2, 0, -3, 0) >= 0,
        "terminal": can_open("/dev/tty", os.O_WRONLY) or can_open(facts["terminal"], os.O_WRONLY),
        "kernel": any(can_open(path, os.O_WRONLY) for path in kernel) or not (is_linux or os.geteuid()),
        "processes": seen and not is_apart("pid"),
        "signals": can_do(os.kill, process, 0) and not is_apart("pid"),
    }
    return [name for name, is_open in tried.items() if is_open]


if __name__ == "__main__":
    main(sys.argv[1:])
