"""Hostile and broken files: ``python robustness/fuzz.py all --minutes 10``.

Every reader gets damaged files, one after another: bytes changed by atheris, which keeps what
reaches new code, and whole files that lie (``fuzz_forge.py``). Each must end in a result or in a
castlist error, within seconds and some memory. Readers run in a process of their own, so that a
crash of it is a failure like any other. Failures are kept as files:
``python robustness/fuzz.py READER --replay FILE`` shows one again.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random

import castlist
from robustness.fuzz_arena import MEMORY, SECONDS, Arena, Failures, Tally, bounded, what_failed

_LARGEST = 2**20  # bytes of an input


_FORGED = 0.5  # share of inputs that are whole files that lie


#: What castlist stands on: loaded first, so that only castlist itself is watched for new paths.
_BELOW = ("torch", "scipy.io", "pyarrow.parquet", "cv2", "av", "numba", "sklearn", "matplotlib",
          "onnx", "onnxruntime")  # fmt: skip


def watched(
    arena: Arena, tally: Tally, failures: Failures, current: Path
) -> Callable[[bytes], None]:
    """Return a function that reads an input and keeps what fails."""

    def peak() -> int:
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    start = peak()

    def one(data: bytes) -> None:
        gc.collect()  # a failed reader may hold a file open until then
        current.write_bytes(data)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        began = time.perf_counter()
        taken = False
        try:
            taken = arena.read(data)
        except Exception as error:
            failures.keep(what_failed(error), data, traceback.format_exc())
        seconds = time.perf_counter() - began
        faulthandler.cancel_dump_traceback_later()
        tally.add(taken, seconds, peak())
        if peak() > start + MEMORY:
            failures.keep("memory", data, f"{peak() / 2**30:.2f} GiB")
            Path("/proc/self/clear_refs").write_text("5")  # counts the peak anew

    return one


def fuzz_here(name: str, seconds: int, folder: Path, out: Path, seed: int) -> None:
    """Fuzz a reader in this process until the time is over, or the process is."""
    import atheris

    for module in _BELOW:
        importlib.import_module(module)
    compiled = (Path(castlist.__file__).parent / "cluster").glob("*.py")
    spared = [f"castlist.cluster.{file.stem}" for file in compiled]  # numba reads their code itself
    with atheris.instrument_imports(["castlist"], spared, enable_loader_override=False):
        importlib.import_module("fuzz_readers")
    with tempfile.TemporaryDirectory(dir=folder) as home:
        arena = Arena(name, Path(home) / "home")
        for data in arena.seeds():  # everything is loaded before memory is bounded
            if not arena.read(data) and arena.reader.valid:
                raise SystemExit(f"{name}: its own valid file was refused")
        corpus = folder / "corpus"
        corpus.mkdir(exist_ok=True)
        for k, data in enumerate(arena.seeds()):
            (corpus / f"seed{k}").write_bytes(data)

        def mutated(data: bytes, largest: int, seed: int) -> bytes:
            rng = Random(seed)
            if rng.random() < _FORGED:
                return arena.forge(rng)[:largest]
            return bytes(atheris.Mutate(data, largest))

        one = watched(arena, Tally(folder / "tally"), Failures(out, name), folder / "current")
        signals = [f"-handle_{s}=0" for s in ("segv", "abrt", "bus", "ill", "fpe", "int", "term")]
        options = [
            f"-max_total_time={seconds}", f"-max_len={_LARGEST}", "-len_control=0", "-timeout=600",
            "-rss_limit_mb=0", "-detect_leaks=0", f"-seed={seed}", *signals, str(corpus),
        ]  # fmt: skip
        atheris.Setup([sys.argv[0], *options], one, custom_mutator=mutated)
        faulthandler.enable()
        gc.freeze()  # what is there by now is not looked through after every input
        with bounded(MEMORY * 2):
            atheris.Fuzz()


def fuzz(name: str, minutes: float, out: Path, seed: int) -> dict[str, object]:
    """Fuzz a reader for some minutes, in as many processes as it takes, one at a time."""
    failures = Failures(out, name)
    end = time.monotonic() + 60 * minutes
    began, used = time.monotonic(), _used()
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-", dir="/dev/shm") as place:
        folder = Path(place)
        crashes = 0
        while (left := end - time.monotonic()) > 1:
            words = [sys.executable, __file__, name, "--here", str(int(left) + 1), place]
            with (folder / "stderr").open("wb") as errors:
                done = subprocess.run(
                    [*words, "--out", str(out.resolve()), "--seed", str(1000 * seed + crashes)],
                    stdout=errors, stderr=errors, cwd=place,
                )  # fmt: skip
            if done.returncode == 0:
                break
            crashes += 1
            said = (folder / "stderr").read_text("utf-8", "replace")
            if not (folder / "current").exists() or crashes > 200:
                raise SystemExit(said[-3000:])
            lines = said.splitlines()
            at = max(
                (i for i, line in enumerate(lines) if "most recent call first" in line), default=0
            )
            stack = [line.strip() for line in lines[at + 1 :] if line.startswith("  File")]
            ours = next((line for line in stack if "/castlist/" in line), "")
            kind = (
                "too slow"
                if any("Timeout" in line for line in lines)
                else f"died ({done.returncode})"
            )
            failures.keep(
                f"{kind} at {' < '.join(dict.fromkeys([*stack[:1], ours]))}",
                (folder / "current").read_bytes(), said[-6000:],
            )  # fmt: skip
        inputs, taken, worst, peak = Tally(folder / "tally").get()
    return {
        "reader": name, "inputs": int(inputs), "taken": int(taken), "crashes": crashes,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "cpu_minutes": round((_used() - used) / 60, 1), "worst_seconds": round(worst, 2),
        "peak_mb": round(peak / 2**20), "failures": [what for what, _ in failures.all()],
    }  # fmt: skip


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def replay(name: str, path: Path) -> None:
    """Read a kept input again, and show what happens."""
    with tempfile.TemporaryDirectory() as place:
        arena = Arena(name, Path(place) / "home")
        faulthandler.enable()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        began = time.perf_counter()
        with bounded(MEMORY * 2):
            taken = arena.read(path.read_bytes())
        faulthandler.cancel_dump_traceback_later()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print("taken" if taken else "refused", f"{time.perf_counter() - began:.2f} s {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", help="a reader, several with commas, or all")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--replay", type=Path)
    parser.add_argument("--here", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        seconds, folder = int(options.here[0]), Path(options.here[1])
        fuzz_here(options.reader, seconds, folder, options.out, options.seed)
    elif options.replay:
        replay(options.reader, options.replay)
    else:
        from robustness.fuzz_readers import READERS

        for name in READERS if options.reader == "all" else options.reader.split(","):
            done = fuzz(name, options.minutes, options.out, options.seed)
            print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
