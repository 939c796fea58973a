"""Folders removed, videos changed, the clock set back: ``python robustness/faults/moved.py``.

What a command makes, or works on, is removed at random moments while it runs, half of them just
before it changes a file: it must end well or with exit code 2 and a reason, and do what it does
undisturbed when it is given again. A video is changed, damaged, shortened, removed and moved
between two scans. And every command is run with a clock that was set back by ten years, among files
of the future.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from robustness.faults.disk import report
from robustness.faults.disk_cases import CASES, Done, draw, forked, other, prepare, run, state
from robustness.faults.kill_launch import at_change

#: What is removed while a command runs; None: what it works on, so that it cannot be given again.
REMOVED = {
    "scan": "film.cast", "train": "run", "study": "out", "join": "new.cast", "report": None,
    "name": None, "recluster": None, "add": None, "export json": None,
}  # fmt: skip
YEARS = 10 * 365 * 86400


def fresh(template: Path, home: Path) -> Path:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template, home)
    return home


def removed(name: str, template: Path, home: Path, times: int) -> tuple[int, list[str]]:
    """Remove a folder at random moments; how often the command failed, and what went wrong."""
    words, target = CASES[name].split(), REMOVED[name]
    gone = [home / (target or words[1])]
    gone += [gone[0].with_name(f".{gone[0].name}.partial")]
    counted = home.with_name(f"{home.name}.changes")

    def remove() -> None:
        for path in gone:
            shutil.rmtree(path, ignore_errors=True)

    def after(moment: float) -> None:
        time.sleep(moment)
        for _ in range(3):  # more may come while it is removed
            remove()

    fresh(template, home)
    start = time.perf_counter()
    assert run(words, home, before=lambda: at_change(0, home)).code == 0
    lasts, wanted = time.perf_counter() - start, state(home)
    changes = int(counted.read_text() or 0)
    rng, failed, wrong = random.Random(name), 0, []
    for k in range(times):
        fresh(template, home)
        if k % 2 and changes:
            change = rng.randint(1, changes)
            when = f"at change {change} of {changes}"
            done = run(words, home, before=partial(at_change, change, home, remove))
        else:
            moment = rng.uniform(0, lasts)
            when = f"after {moment:.2f} s"
            done = run(words, home, meanwhile=partial(after, moment))
        failed += done.code != 0
        if done.code not in (0, 2) or "Traceback" in done.said:
            wrong.append(f"{when}: exit code {done.code}: {done.said[-900:]}")
        if target is None:
            continue
        again = run(words, home)
        changed = other(wanted, state(home))
        if (again.code and "already" not in again.said) or changed:
            wrong.append(f"{when}, again: {again.code} {again.said[-300:]} {changed}")
    return failed, wrong


def videos(template: Path, home: Path) -> list[str]:
    """Scan a video that is not what it was; what went wrong."""
    fresh(template, home)
    wrong: list[str] = []
    scan = CASES["scan"].split()
    film, cast = home / "film.mp4", home / "film.cast"

    def expect(what: str, good: object, done: Done) -> None:
        if not good:
            wrong.append(f"{what}: {done.code} {done.said[-500:]}")

    def told(path: Path = cast) -> dict[str, Any]:
        found = {k: v for k, v in state(path).items() if not k.startswith("corrections-")}
        found.pop("run.json"), found.pop("report.html")  # where the video is, and names
        return found

    assert run(scan, home).code == 0
    original = told()
    first = film.read_bytes()
    run(["name", "film.cast", "1", "Anna"], home)
    before = state(cast)
    for what, content in (("garbage", b"no video" * 1000), ("empty", b""), ("half", None)):
        film.write_bytes(first[: len(first) // 2] if content is None else content)
        done = run(scan, home)
        expect(f"{what} instead of the video", done.code == 2 and "film.mp4" in done.said, done)
        expect(f"{what}: the earlier cast", not other(before, state(cast)), done)
    film.unlink()
    done = run(scan, home)
    expect("no video", done.code == 2 and "film.mp4" in done.said, done)
    for words in (
        "report film.cast", "export film.cast --to csv -o x.csv", "log film.cast",
        "background film.cast 2", "undo film.cast", "recluster film.cast --yes",
    ):  # fmt: skip
        done = run(words.split(), home)
        expect(f"{words} with no video", done.code == 0, done)
    said = told()["corrections.db"]
    forked(lambda: draw(home / "film.mp4", people=2, seed=5))
    before = state(cast)
    done = run(scan, home)
    expect("another video of that name", done.code == 2 and "another video" in done.said, done)
    expect("another video: the earlier cast", not other(before, state(cast)), done)
    done = run([*scan, "--replace"], home)
    expect("another video instead", done.code == 0, done)
    changed = told()
    kept = [value for name, value in state(cast).items() if name.startswith("corrections-")]
    expect("what was said is kept", kept == [said], done)
    expect("what was said of the other video", "corrections.db" not in changed, done)
    shutil.copytree(home, home / "elsewhere")
    shutil.rmtree(home / "elsewhere" / "film.cast")
    assert run(scan, home / "elsewhere").code == 0
    alone = told(home / "elsewhere" / "film.cast")
    expect("the cast of the other video", not other(changed, alone), done)
    forked(lambda: draw(home / "film.mp4"))
    done = run([*scan, "--replace"], home)
    back = told()
    expect("the first video again", not other(back, original), done)
    (home / "moved").mkdir()
    for path in (film, home / "film.txt", cast):
        path.rename(home / "moved" / path.name)
    times = {
        path: path.stat().st_mtime_ns for path in (home / "moved" / "film.cast").rglob("*.jpg")
    }
    done = run(scan, home / "moved")
    expect("moved with its cast", done.code == 0 and all(
        path.stat().st_mtime_ns == then for path, then in times.items()), done)  # fmt: skip
    return wrong


def clock(name: str, template: Path, home: Path) -> list[str]:
    """Run a command on files of the future, at a time before they were made."""
    words = CASES[name].split()
    assert run(words, fresh(template, home)).code == 0
    wanted = state(home)
    fresh(template, home)
    for path in [home, *home.rglob("*")]:
        os.utime(path, (time.time() + YEARS,) * 2)
    done = run(words, home, before=set_back)
    changed = [
        one for one in other(wanted, state(home)) if not _only_time(wanted, state(home), one)
    ]
    return [f"{done.code} {done.said[-500:]} {changed}"] if done.code or changed else []


def _only_time(one: dict[str, Any], two: dict[str, Any], name: str) -> bool:
    """Return whether two run manifests differ only in the modification time of the video."""
    if not name.endswith("run.json") or name not in one or name not in two:
        return False
    notes = [dict(value[name]) for value in (one, two)]
    for note in notes:
        note["video"] = {k: v for k, v in note["video"].items() if k != "changed"}
        note["stages"] = list(note["stages"])
    return notes[0] == notes[1]


def set_back() -> None:
    now: Callable[[], float] = time.time
    time.time = lambda: now() - YEARS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", choices=["removed", "videos", "clock"])
    parser.add_argument("commands", nargs="*", default=list(CASES))
    given = parser.parse_args()
    if unknown := set(given.commands) - set(CASES):
        parser.error(f"no such command: {', '.join(sorted(unknown))}")
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        template, home = Path(place) / "template", Path(place) / "home"
        template.mkdir()
        made = forked(lambda: prepare(template))
        assert made.code == 0, made.said
        if given.only in (None, "videos"):
            bad += report("videos", 1, 0, videos(template, home))
        for name in given.commands:
            if name in REMOVED and given.only in (None, "removed"):
                failed, wrong = removed(name, template, home, given.times)
                bad += report(f"{name}, removed", given.times, failed, wrong)
            if given.only in (None, "clock"):
                bad += report(f"{name}, clock back", 1, 0, clock(name, template, home))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
