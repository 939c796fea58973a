"""Start castlist so that it can be killed: a fork of a process that has imported everything.

An interpreter with PyTorch takes seconds to start, and a hundred of them hours. Nothing but imports
happens in the process that is forked: no thread of it runs that a fork would lose.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from robustness.faults.child import be

#: Seconds after which a command is taken to hang.
PATIENCE = 900.0


#: What each command imports as it goes; an optimizer imports the last of these.
_LEARNS = (
    "castlist.research.training.trainer",
    "castlist.research.training.finetune",
    "torch._dynamo",
)
_SCANS = ("castlist.cli.scan", "castlist.pipeline.scan")
_IMPORTS = {
    "scan": _SCANS, "rescan": _SCANS, "train": ("castlist.research.commands.train", *_LEARNS),
    "study": ("castlist.research.commands.study", "castlist.research.study.html_page",
              "castlist.research.study.runner", *_LEARNS),
    "join": ("castlist.cli.join",), "add": ("castlist.cli.join",),
    "review": ("castlist.cli.review", "castlist.review.serve"),
}  # fmt: skip


def warm_up(commands: Sequence[str]) -> None:
    """Import what the commands import, and load what is compiled."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy and PyTorch come
    for name in ("castlist.cli.app", "castlist.cast.series", "castlist.report.page"):
        import_module(name)
    for name in {name for command in commands for name in _IMPORTS[command]}:
        import_module(name)
    import numpy as np

    from castlist.cluster.linkage import complete_linkage

    complete_linkage(np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32), 0.5)
    assert threading.active_count() == 1, "a thread would be lost in a fork"


@dataclass
class Running:
    """A command at work, the first of a group of processes."""

    pid: int
    told: Path
    code: int | None = None

    def poll(self) -> int | None:
        """Return its exit code if it ended; minus the signal if it was killed."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def wait(self) -> int:
        """Wait for its end."""
        until = time.monotonic() + PATIENCE
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"no end after {PATIENCE:.0f} s: {self.told.read_text()}")
            time.sleep(0.002)
        return code

    def kill(self, alone: bool = False) -> None:
        """Kill it and all processes that it started; ``alone``: those must notice by themselves."""
        with suppress(ProcessLookupError):
            (os.kill if alone else os.killpg)(self.pid, signal.SIGKILL)
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        until = time.monotonic() + PATIENCE
        while self._lives():
            if time.monotonic() > until:
                raise RuntimeError(f"processes of {self.pid} go on after it was killed")
            time.sleep(0.002)

    def _lives(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


def start(
    words: Sequence[object], home: Path, *, fresh: bool = False,
    before: Callable[[], None] | None = None,
) -> Running:  # fmt: skip
    """Start ``castlist words`` in a folder.

    Parameters
    ----------
    words : sequence
        The command.
    home : Path
        Where it is at work; what it says goes to ``said.txt`` there.
    fresh : bool
        In an interpreter of its own, as a person would; else in a fork of this process.
    before : callable, optional
        Called in the fork first.
    """
    told, command = home.with_name(f"{home.name}.txt"), [str(word) for word in words]
    environment = os.environ | {"TMPDIR": str(home), "OMP_NUM_THREADS": "1"}
    with told.open("ab") as said:
        if fresh:
            process = subprocess.Popen(
                [sys.executable, "-m", "castlist", *command], cwd=home, env=environment,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
            process.returncode = 0  # we wait for it ourselves
            return Running(process.pid, told)
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            _be(command, home, environment, said.fileno(), before)
    return Running(pid, told)


def _be(
    command: list[str], home: Path, environment: dict[str, str], said: int,
    before: Callable[[], None] | None,
) -> None:  # fmt: skip
    """Be the command, to the end of the process."""

    def call() -> None:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(home)
        os.environ.update(environment)
        sys.argv = ["castlist", *command]
        if before is not None:
            before()
        from castlist.cli import main

        main()

    be(call, said)


#: What changes files; each is announced before it happens.
_CHANGES = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.truncate"})


def killed() -> None:
    """Kill this process and those that it started."""
    os.killpg(0, signal.SIGKILL)


def at_change(number: int, home: Path, harm: Callable[[], object] = killed) -> None:
    """Do harm when this process is about to change a file for the so-and-so-many-th time.

    Most of the time nothing is written, and a random moment rarely meets what is between two
    changes. With 0, how many there were is written beside ``home`` at each.
    """
    inside, seen = f"{home}{os.sep}", 0

    def look(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event == "open":
            flags = arguments[2]
            if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
                return
        elif event not in _CHANGES:
            return
        path = arguments[0]
        if not isinstance(path, str | os.PathLike):
            return
        if not os.path.abspath(path).startswith(inside):
            return
        seen += 1
        if seen == number:
            harm()
        if not number:
            counts.seek(0)
            counts.write(str(seen))
            counts.flush()

    counts = home.with_name(f"{home.name}.changes").open("w")
    sys.addaudithook(look)
