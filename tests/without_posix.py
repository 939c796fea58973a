"""A pytest plugin that takes POSIX away from castlist: ``pytest -p tests.without_posix``.

It imitates Windows as far as Linux can: modules that only POSIX has cannot be imported by castlist
and its tests, and ``os`` and ``signal`` lack the names that Windows lacks. Tests with the mark
``posix`` are skipped, as on Windows. Libraries are not affected.
"""

from __future__ import annotations

import builtins
import os
import signal
import types

#: Modules of the standard library that Windows does not have.
MODULES = {
    "crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd",
    "syslog", "termios", "tty",
}  # fmt: skip
#: Names of ``os`` and ``signal`` that Windows does not have.
NAMES = {
    "os": {
        "WNOHANG", "chown", "chroot", "fchdir", "fchmod", "fchown", "fdatasync", "fork", "forkpty",
        "fpathconf", "fstatvfs", "getegid", "geteuid", "getgid", "getgroups", "getloadavg",
        "getpgid", "getpgrp", "getpriority", "getresuid", "getsid", "getuid", "initgroups",
        "killpg", "lchown", "lockf", "mkfifo", "mknod", "nice", "openpty", "pathconf", "pipe2",
        "posix_spawn", "pread", "pwrite", "register_at_fork", "sched_getaffinity",
        "sched_setaffinity", "sched_yield", "sendfile", "setegid", "seteuid", "setgid",
        "setgroups", "setpgid", "setpriority", "setsid", "setuid", "statvfs", "sync", "sysconf",
        "tcgetpgrp", "ttyname", "uname", "wait", "wait3", "wait4", "waitid", "O_CLOEXEC",
        "O_DIRECTORY", "O_DSYNC", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "O_TMPFILE",
    },
    "signal": {
        "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGIO", "SIGKILL", "SIGPIPE",
        "SIGPROF", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2",
        "SIGVTALRM", "SIGWINCH", "alarm", "pause", "pthread_kill", "setitimer", "siginterrupt",
        "sigpending", "sigwait",
    },
}  # fmt: skip
OURS = ("castlist", "tests", "datasets", "benchmarks")


class _Windows(types.ModuleType):
    """A module without the names that Windows does not have."""

    def __init__(self, real: types.ModuleType) -> None:
        super().__init__(real.__name__)
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> object:
        real = self.__dict__["_real"]
        if name in NAMES[real.__name__]:
            raise AttributeError(f"module {real.__name__!r} has no attribute {name!r} on Windows")
        return getattr(real, name)


_SEEN = {module.__name__: _Windows(module) for module in (os, signal)}
_import = builtins.__import__


def _without(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "").partition(".")[0]
    if importer in OURS and level == 0 and name in MODULES:
        raise ImportError(f"No module named {name!r} on Windows")
    if importer == "castlist" and level == 0 and name in _SEEN:
        return _SEEN[name]
    return _import(name, globals, locals, fromlist, level)


def pytest_load_initial_conftests():
    """Begin before the first module of castlist is imported."""
    builtins.__import__ = _without


def pytest_collection_modifyitems(items):
    """Skip tests of what only POSIX has."""
    import pytest

    for item in items:
        if item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="only POSIX has it"))
