"""Kill castlist at random moments, run it again, and see that nothing is lost.

``python robustness/faults/kill.py scan train study join add review --times 100``

Each command (``rescan``: a scan of what is scanned and corrected, with another setting) runs once
undisturbed. Then, so many times: it is started, all its processes are
killed (SIGKILL) at a random moment, in half of the runs several times in a row, and it is run again
to its end. What it leaves must be the same bit for bit, but for how long things took
(``kill_compare.py``), and nothing else may lie there. A third of the moments are counted from the
start, a third from the first thing that is written, and a third are those before a random change
of a file. Every tenth run (25th of a study) is in an interpreter of its own, the others in a fork.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from signal import SIGKILL

import numpy as np

from datasets.demo_video import fetch_pictures, portrait_clips
from robustness.faults.kill_compare import contents, differences, leftovers
from robustness.faults.kill_launch import Running, at_change, start, warm_up
from robustness.faults.kill_tally import Tally
from robustness.faults.kill_victims import OUT, Victim, phase, victim

COMMANDS = ("scan", "rescan", "train", "study", "join", "add", "review")
_MOST = 4  # kills in a row


def disturb(
    command: str, folder: Path, times: int, seed: int, clips: Path | None, quick: bool
) -> Tally:
    """Kill a command ``times`` times, each run in its own folder; ``quick``: forks only."""
    rng = np.random.default_rng(seed)
    one = victim(command, folder / "inputs", clips)
    seconds = {fresh: _undisturbed(one, folder, fresh) for fresh in (True, False)[quick:]}
    changes = int((folder / "reference.changes").read_text())
    told = f"; {seconds[True]:.2f} s in an interpreter of its own" if not quick else ""
    print(f"{command}: {seconds[False]:.2f} s undisturbed, {changes} changes of files{told}")
    want, tally = contents(folder / "reference"), Tally(command)
    while tally.kills < times:
        i = tally.runs
        home = _begin(one, folder / f"run-{i:03d}")
        fresh = not quick and i % one.fresh == one.fresh - 1
        for _ in range(int(rng.integers(2, _MOST + 1)) if rng.random() < 0.5 else 1):
            how, after = int(rng.integers(3)), rng.uniform(0, seconds[fresh])
            alone = one.orphans and rng.random() < 0.3
            if how == 2 and not fresh:
                run = _start(one, home, int(rng.integers(changes)) + 1)
                run.wait()
            else:
                run = start(one.words, home, fresh=fresh, before=one.before)
                _strike(run, home, how == 1, after, alone)
            if run.code == -SIGKILL:
                tally.kills += 1
                tally.phases[phase(one, home / OUT)] += 1
                if one.look is not None and (wrong := one.look(home)):
                    print(f"{command} run {i}, killed: {wrong}", flush=True)
                    tally.differing += 1
            else:
                tally.phases["ended before"] += 1
        tally.runs += 1
        _end(one, home, want, tally, i, fresh)
    return tally


def _undisturbed(one: Victim, folder: Path, fresh: bool) -> float:
    home, began = _begin(one, folder / "reference"), time.monotonic()
    run = start(one.words, home, fresh=True) if fresh else _start(one, home, 0)
    if run.wait():
        raise SystemExit(f"{' '.join(one.words)} fails undisturbed:\n{run.told.read_text()}")
    return time.monotonic() - began


def _start(one: Victim, home: Path, change: int) -> Running:
    """Start a command that is killed at a change of a file; at none if 0."""

    def before() -> None:
        if one.before is not None:
            one.before()
        at_change(change, home)

    return start(one.words, home, before=before)


def _begin(one: Victim, home: Path) -> Path:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    one.prepare(home)
    return home


def _strike(run: Running, home: Path, at_work: bool, after: float, alone: bool) -> None:
    """Kill a run after some seconds, from its start or from the first thing that it writes."""
    first, clock = _stamp(home), None if at_work else time.monotonic()
    while run.poll() is None:
        if clock is None and _stamp(home) != first:
            clock = time.monotonic()
        if clock is not None and time.monotonic() - clock >= after:
            run.kill(alone)
            return
        time.sleep(0.0005)


def _stamp(home: Path) -> tuple[float, ...]:
    places = (home, home / OUT, *home.glob(f"{OUT}/*.cast"))
    return tuple(place.stat().st_mtime for place in places if place.exists())


def _end(one: Victim, home: Path, want: dict[str, str], tally: Tally, i: int, fresh: bool) -> None:
    """Run a command again to its end, and hold what it made against the reference."""
    run = start(one.words, home, fresh=fresh, before=one.before)
    code, said = run.wait(), run.told.read_text("utf-8", "replace")
    done = code == 0 or (code == 2 and one.already and one.already in said)
    found = contents(home)
    wrong, left = differences(want, found), leftovers(want, found)
    if not done or wrong or left:
        print(f"{tally.command} run {i}: exit {code}; differs: {wrong[:8]}; left: {left[:8]}\n"
              f"  {home}: {said.strip().splitlines()[-1:]}", flush=True)  # fmt: skip
        tally.differing += bool(wrong) or not done
        tally.left += bool(left)
        return
    shutil.rmtree(home)
    run.told.unlink()
    home.with_name(f"{home.name}.changes").unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="+", choices=[*COMMANDS, "all"])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="keep what differs here")
    parser.add_argument("--quick", action="store_true", help="no interpreters of their own")
    parser.add_argument("--drawn", action="store_true", help="scan drawn faces, not portraits")
    asked = parser.parse_args()
    folder = Path(asked.folder or tempfile.mkdtemp(prefix="castlist-kill-")).resolve()
    clips = None
    if not asked.drawn:
        clips = portrait_clips(fetch_pictures(Path("demo/pictures")), folder / "clips")
    commands = COMMANDS if "all" in asked.commands else asked.commands
    warm_up(commands)
    tallies = []
    for command in commands:
        shutil.rmtree(folder / command, ignore_errors=True)  # of an earlier run
        if command == "review":
            from robustness.faults.kill_review import disturb_review

            tallies.append(disturb_review(folder / command, asked.times, asked.seed, asked.quick))
        else:
            how = (asked.times, asked.seed, clips, asked.quick)
            tallies.append(disturb(command, folder / command, *how))
        print(tallies[-1].row(), flush=True)
    print(
        "\n| command | runs | kills | where | differ | leftovers |\n|---|---:|---:|---|---:|---:|"
    )
    print("\n".join(tally.row() for tally in tallies))
    if asked.folder is None and not any(tally.wrong for tally in tallies):
        shutil.rmtree(folder)
    sys.exit(any(tally.wrong for tally in tallies))


if __name__ == "__main__":
    main()
