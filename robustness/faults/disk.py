"""Disk full and permission denied: ``python robustness/faults/disk.py [COMMAND ...]``.

Each command is run on a small disk of its own, with so much room left: at 20 sizes, from none to
more than it needs. It must end with exit code 2 and say which file and that the disk is full, leave
what was there as it was, and, given room, do what it does undisturbed. Then the same where nothing
may be written, and where one of its files at a time may not be read. Last the review server is
corrected on a disk that fills up and is freed again.

The disk is a tmpfs in a mount namespace of this process alone, which ``unshare`` makes.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from castlist.cast.log import Log
from robustness.faults.disk_cases import CASES, Done, forked, other, prepare, run, state, wrong_end
from robustness.review_server import Server

SIZE = 128 << 20
PAGE = 4096
FULL = ("No space left", "disk is full")
DENIED = ("Permission denied", "readonly", "unable to open", "cannot be read", "not readable")
MARGIN = 64 * PAGE  # more than what a command leaves: files it wrote and replaced


def used(disk: Path) -> int:
    found = os.statvfs(disk)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def fill(disk: Path, room: int) -> Path:
    """Leave ``room`` bytes free; return the file that takes the rest."""
    found = os.statvfs(disk)
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, found.f_bfree * PAGE - room // PAGE * PAGE or 1)
    return ballast


def says_the_same(before: Any, now: Any) -> bool:
    """Return whether two logs have the same events.

    The tracks of an event are stored before it, and are harmless without it.
    """
    if (
        not isinstance(before, list)
        or not isinstance(now, list)
        or not len(before) == len(now) == 3
    ):
        return False
    return before[::2] == now[::2] and now[1][: len(before[1])] == before[1]


class Trial:
    """A command, its inputs on a disk, and what it makes of them undisturbed."""

    def __init__(self, name: str, template: Path, disk: Path) -> None:
        self.words, self.template, self.disk = CASES[name].split(), template, disk
        self.home = disk / "home"
        self.fresh()
        self.before = state(self.home)
        first = used(disk)
        done = run(self.words, self.home)
        assert done.code == 0, done.said
        self.need = used(disk) - first
        self.wanted = state(self.home)

    def fresh(self) -> None:
        """Put the inputs there as they were."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.template, self.home)

    def harmed(self) -> list[str]:
        """List the files that were there and are not what they were, nor what they shall be."""
        now = state(self.home)
        return [name for name in other(self.before, now) if name in self.before
                and now.get(name) != self.wanted.get(name)
                and not says_the_same(self.before[name], now.get(name))]  # fmt: skip

    def repeated(self, first: Done) -> Iterator[str]:
        """Run the command again, or the one its message names; return what is wrong."""
        told = re.search(r"`castlist (report \S+)`", first.said)
        again = run(told[1].split() if told else self.words, self.home)
        if again.code:
            yield f"again: exit code {again.code}: {again.said[-600:]}"
        if changed := other(self.wanted, state(self.home)):
            yield f"again: another result in {' '.join(changed)}"

    def full(self, room: int) -> tuple[bool, list[str]]:
        """Run with little room; whether that was too little, and what went wrong."""
        self.fresh()
        ballast = fill(self.disk, room)
        done = run(self.words, self.home)
        ballast.unlink()
        if done.code == 0:
            changed = other(self.wanted, state(self.home))
            return False, [f"another result in {' '.join(changed)}"] if changed else []
        wrong = [wrong_end(done, *FULL), *(f"{name} is harmed" for name in self.harmed())]
        return True, [one for one in [*wrong, *self.repeated(done)] if one]

    def denied(self) -> tuple[int, list[str]]:
        """Run where nothing may be written, then where one file may not be read."""
        self.fresh()
        paths = [self.home, *self.home.rglob("*")]
        for path in paths:
            path.chmod(0o555 if path.is_dir() else 0o444)
        done = run(self.words, self.home, before=be_nobody)
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
        wrong = [f"{name} is harmed" for name in self.harmed()]
        if done.code or other(self.wanted, state(self.home)):  # else there was nothing to write
            wrong.append(wrong_end(done, *DENIED))
        wrong += self.repeated(done)
        self.fresh()
        mine = [word for word in self.words if (self.home / word).exists()]
        files = [
            path
            for word in mine
            for path in ([self.home / word] if "." in word else [])
            + [*(self.home / word).rglob("*")]
            if path.is_file() and not path.name.endswith((".jpg", "-wal", "-shm"))
        ]
        for path in files:
            path.chmod(0)
            done = run(self.words, self.home, before=be_nobody)
            path.chmod(0o644)
            if done.code and (bad := wrong_end(done, *DENIED)):
                wrong.append(f"{path.relative_to(self.home)} not readable: {bad}")
            elif done.code and path.name not in done.said:
                wrong.append(f"{path.relative_to(self.home)} is not named: {done.said[-300:]}")
            if done.code == 0:
                self.fresh()
            elif harmed := self.harmed():
                wrong.append(f"{path.name} not readable: {harmed} harmed")
        return 1 + len(files), [one for one in wrong if one]


def be_nobody() -> None:
    """Give up what lets root read and write whatever it likes (all capabilities)."""
    if os.geteuid() == 0:
        head, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert ctypes.CDLL(None).capset(head, none) == 0


def review(template: Path, disk: Path, sizes: int) -> tuple[int, list[str]]:
    """Correct on the page while the disk fills up; how often it was full, and what went wrong."""
    home = disk / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template, home)
    folder, wrong, full, taken = home / "a.cast", [], 0, 0
    with Server(folder) as server:
        for k in range(sizes):
            ballast = fill(disk, k * PAGE)
            status, told = server.act(kind="name", characters=[1], name=f"full {k} {'x' * 100}")
            shown = server.ask("/api/cast")[0]
            ballast.unlink()
            taken += status == 200
            if status != 200:
                full += 1
                if status != 500 or not any(word in told["error"] for word in FULL):
                    wrong.append(f"{k} pages: {status} {told}")
            if shown != 200:
                wrong.append(f"{k} pages: the cast is not shown ({shown})")
            status, told = server.act(kind="name", characters=[1], name=f"again {k}")
            taken += status == 200
            if status != 200:
                wrong.append(f"{k} pages, then room: {status} {told}")
            if server.get("/api/cast")["characters"][0]["name"] != f"again {k}":
                wrong.append(f"{k} pages, then room: another cast")
    if Log(folder / "corrections.db").last != taken:
        wrong.append("the log holds another number of events than were taken")
    return full, wrong


def report(title: str, tried: int, failed: int, wrong: list[str]) -> int:
    print(f"{title:22} {tried:4} tried, {failed:4} could not, {len(wrong):3} wrong", flush=True)
    for one in wrong:
        print("   ", one)
    return len(wrong)


def inside(place: Path, commands: list[str], sizes: int) -> int:
    """Try all commands on a disk of our own; how much went wrong."""
    template, disk = place / "template", place / "disk"
    template.mkdir()
    disk.mkdir()
    made = forked(lambda: prepare(template))
    assert made.code == 0, made.said
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", disk], check=True)
    bad = 0
    for name in commands:
        if name == "review":
            full, wrong = review(template, disk, sizes)
            bad += report("review, disk full", sizes, full, wrong)
            continue
        trial = Trial(name, template, disk)
        rooms = [k * (trial.need + MARGIN) // max(sizes - 1, 1) for k in range(sizes)]
        found = [trial.full(room) for room in rooms]
        wrong = [f"{room} bytes: {one}" for room, (_, w) in zip(rooms, found, strict=True)
                 for one in w]  # fmt: skip
        bad += report(f"{name}, disk full", sizes, sum(full for full, _ in found), wrong)
        tried, wrong = trial.denied()
        bad += report(f"{name}, denied", tried, tried, wrong)
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=[*CASES, "review"])
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := set(given.commands) - {*CASES, "review"}:
        parser.error(f"no such command: {', '.join(sorted(unknown))}")
    if given.inside:
        sys.exit(bool(inside(given.inside, given.commands, given.sizes)))
    with tempfile.TemporaryDirectory() as place:
        words = ["unshare", "-rm", sys.executable, *sys.argv, "--inside", place]
        sys.exit(subprocess.run(words).returncode)


if __name__ == "__main__":
    main()
