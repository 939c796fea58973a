"""Which policies no test guards: ``python robustness/mutants.py --seed 1 --count 60``.

Mutants are drawn from the modules in which castlist decides who somebody is. Each is one small
change of the code: ``<`` becomes ``<=``, a term is left out, a statement is removed
(``mutate.py``). It is put into a copy of the tree, and the tests of the default run that concern
its module are run. Mutants that no test fails for are printed: they survive.

Some mutants behave as the code does. ``equivalent_mutants.toml`` lists them, with the reason; the
next in the order of the seed takes their place. The order depends on the seed and on each mutant
alone, so that a change of the code replaces only the mutants of what was changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from robustness.mutate import Mutant, mutants_of, mutated

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/castlist")
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
#: The modules to mutate, below ``src/castlist``.
MODULES = ("cast/*.py", "model/neighbours.py", "export/timeline.py", "video/follow.py")
#: The tests that concern the modules of a package, after those of the module itself.
CONCERNED = {
    "cast": (
        "tests/cast", "tests/report", "tests/review/test_views.py", "tests/cli/test_corrections.py",
        "tests/pipeline/test_identity.py",
    ),
    "model": ("tests/model", "tests/cluster"),
    "export": ("tests/export", "tests/handover"),
    "video": ("tests/video", "tests/pipeline/test_external_tracks.py"),
}  # fmt: skip
_LOOPS = 10  # times as long as the same tests without a mutant
_SHORTEST = 60.0  # seconds: a short run may take longer because of other work on the machine


_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
#: Tests that are run together: paths of files and folders.
Stage = tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """What the tests said of a mutant: ``killed``, ``loops`` (killed, too) or ``survived``."""

    mutant: Mutant
    outcome: str
    seconds: float


class Copy:
    """A copy of the tree, in which one mutant at a time is tested."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = home / "tree"
        listed = ["git", "-C", str(root), "ls-files", "-z", "--cached"]
        names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
        for name in filter(None, names):
            if (root / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.root / name)
        self._stamps = count(10**9)

    def passes(self, tests: Iterable[str], limit: float | None = None) -> bool | None:
        """Return whether tests pass; None if they take longer than ``limit`` seconds."""
        paths = f"{self.root / 'src'}{os.pathsep}{self.root}"
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        with subprocess.Popen(
            words, cwd=self.root, start_new_session=True,
            env=os.environ | {"PYTHONPATH": paths} | _ENVIRONMENT,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as run:  # fmt: skip
            try:
                return run.wait(limit) == 0
            except subprocess.TimeoutExpired:
                return None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)  # with the processes that the tests began

    def judge(self, mutant: Mutant, limit: Callable[[Stage], float]) -> Verdict:
        """Run the tests that concern a mutant until one fails; ``limit`` gives seconds."""
        began, outcome = time.monotonic(), "survived"
        path = self.root / SOURCE / mutant.module
        text = path.read_text("utf-8")
        self._write(path, mutated(text, mutant))
        try:
            for stage in stages_of(mutant.module, self.root):
                passed = self.passes(stage, limit(stage))
                if not passed:
                    outcome = "loops" if passed is None else "killed"
                    break
        finally:
            self._write(path, text)
        return Verdict(mutant, outcome, time.monotonic() - began)

    def _write(self, path: Path, text: str) -> None:
        """Write a module; its time differs by seconds, as compiled code is looked up by them."""
        path.write_text(text, "utf-8")
        stamp = next(self._stamps)
        os.utime(path, (stamp, stamp))


class Times:
    """How long the tests take without a mutant; they must pass. Measured when first asked for."""

    def __init__(self, tree: Copy) -> None:
        self._tree = tree
        self._lock = Lock()
        self._known: dict[Stage, float] = {}

    def limit(self, stage: Stage) -> float:
        """Return the seconds after which tests are taken to loop."""
        with self._lock:
            if stage not in self._known:
                began = time.monotonic()
                if not self._tree.passes(stage):
                    raise SystemExit(f"without a mutant, these tests fail: {' '.join(stage)}")
                self._known[stage] = time.monotonic() - began
            return max(_SHORTEST, _LOOPS * self._known[stage])


def stages_of(module: str, root: Path) -> list[Stage]:
    """Return the tests that concern a module: those that mirror it, its package's, and others."""
    package, name = module.split("/")
    mirror = f"tests/{package}/test_{name}"
    own, *others = CONCERNED[package]
    stages = [(mirror,), (own,), tuple(others)]
    return stages if (root / mirror).is_file() else stages[1:]


def drawn(mutants: Iterable[Mutant], seed: int) -> list[Mutant]:
    """Return mutants in the order of a seed."""
    return sorted(mutants, key=lambda one: sha256(f"{seed} {one.id}".encode()).digest())


def listed_equivalents(path: Path) -> set[str]:
    """Return the ids of the mutants that are listed as equivalent."""
    listed = tomllib.loads(path.read_text("utf-8")).get("mutant", [])
    return {Mutant(one["module"], one["place"], one["change"]).id for one in listed}


def judged(mutants: list[Mutant], jobs: int, home: Path) -> Iterator[Verdict]:
    """Yield the verdict on each mutant, with several at a time in copies of their own."""
    trees: SimpleQueue[Copy] = SimpleQueue()
    for k in range(jobs):
        trees.put(Copy(ROOT, home / f"copy{k}"))
    times = Times(Copy(ROOT, home / "unchanged"))

    def verdict(mutant: Mutant) -> Verdict:
        tree = trees.get()
        try:
            return tree.judge(mutant, times.limit)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(verdict, mutants)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, help="below src/castlist")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    os.nice(5)
    source = ROOT / SOURCE
    modules = sorted(
        path.relative_to(source).as_posix()
        for some in options.modules
        for path in source.glob(some)
    )
    every = [
        one for name in modules for one in mutants_of(name, (source / name).read_text("utf-8"))
    ]
    same = listed_equivalents(EQUIVALENT)
    for unknown in sorted(same - {one.id for one in every}) if options.modules == MODULES else ():
        print(f"listed as equivalent, and not there any more: {unknown}")
    order = drawn(every, options.seed)
    chosen = [one for one in order if one.id not in same][: options.count]
    passed = order.index(chosen[-1]) + 1 - len(chosen)
    print(f"{len(every)} mutants of {len(modules)} modules; {len(chosen)} drawn by seed "
          f"{options.seed}, {passed} equivalent ones passed over", flush=True)  # fmt: skip
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as home:
        for one in judged(chosen, options.jobs, Path(home)):
            outcomes[one.outcome] += 1
            print(f"{one.outcome:8} {one.seconds:4.0f} s  {one.mutant.id}", flush=True)
    killed = outcomes["killed"] + outcomes["loops"]
    print(f"killed {killed} of {len(chosen)} ({killed / len(chosen):.0%}), "
          f"{outcomes['loops']} of them by a loop; survived {outcomes['survived']}")  # fmt: skip


if __name__ == "__main__":
    main()
