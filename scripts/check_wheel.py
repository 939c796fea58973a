"""Try a wheel of castlist as a user has it: scan, name and export in an environment of its own.

The wheel is installed without extras, with the versions of constraints.txt, or with --newest as by
the install lines of the user guide, with the newest versions of everything. The commands are run
in an empty folder, with a home folder that cannot be written to.

    python scripts/check_wheel.py dist/castlist-0.1.0-py3-none-any.whl
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from datasets.demo_video import compose_demo, fetch_pictures

ROOT = Path(__file__).parents[1]
PEOPLE = 4
#: Packages of castlist[dev] and castlist[research] that a plain install must not need.
ABSENT = ("torch", "sklearn", "numba", "matplotlib", "onnxruntime", "pandas", "ray", "pytest")


class Try:
    """An environment with nothing but a wheel and what it requires, and a folder to work in."""

    def __init__(self, folder: Path, install: Sequence[str], base: str = sys.executable) -> None:
        self.venv, self.home, self.work = (folder / name for name in ("venv", "home", "work"))
        for one in (self.home, self.work):
            one.mkdir()
        begun = time.perf_counter()
        subprocess.run([base, "-m", "venv", self.venv], check=True)
        self.python = str(self.venv / ("Scripts" if os.name == "nt" else "bin") / "python")
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *install], check=True)
        size = sum(p.stat().st_size for p in self.venv.rglob("*") if p.is_file())
        print(f"installed in {time.perf_counter() - begun:.0f} s, {size / 1e6:.0f} MB")
        self.home.chmod(0o555)
        self.before: list[str] = []
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # root may write anywhere
            mount = 'mount -t tmpfs -o ro none "$0" && exec "$@"'
            self.before = ["unshare", "-rm", "sh", "-c", mount, str(self.home)]

    def run(self, *words: object) -> str:
        """Run Python in the working folder; return what it prints. Print command and time."""
        begun = time.perf_counter()
        done = subprocess.run(
            [*self.before, self.python, *map(str, words)], cwd=self.work, env=self.environment(),
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        shown = " ".join(map(str, words)).removeprefix("-m ")
        if done.returncode:
            raise SystemExit(f"$ {shown}\n{done.stdout}{done.stderr}")
        if words[0] == "-m":
            print(f"$ {shown}  # {time.perf_counter() - begun:.1f} s", flush=True)
        return done.stdout

    def environment(self) -> Mapping[str, str]:
        """Return the variables of the processes: a home folder, and nothing of this Python."""
        kept = ("PATH", "LANG", "SYSTEMROOT", "TEMP", "TMPDIR")
        here = {name: os.environ[name] for name in kept if name in os.environ}
        return {**here, "HOME": str(self.home), "USERPROFILE": str(self.home), "PYTHONUTF8": "1"}

    def castlist(self, *words: object) -> str:
        """Run a command of castlist; return what it prints."""
        return self.run("-m", "castlist", *words)


def check(one: Try, film: Path) -> None:
    """Scan a film of four people, name one and export the cast; raise if a result is wrong."""
    for module in ABSENT:
        found = one.run("-c", f"import importlib.util as u; print(u.find_spec({module!r}))")
        expect(found.strip() == "None", f"{module} is installed")
    expect(one.castlist("--version").startswith("castlist "), "no version")
    expect(json.loads(one.castlist("doctor", "--json"))["problems"] == [], "doctor has complaints")
    (one.work / "film.mp4").write_bytes(film.read_bytes())
    (scanned,) = json.loads(one.castlist("scan", "film.mp4", "--json"))
    count = len(scanned["characters"])
    expect(count == PEOPLE, f"{count} characters instead of {PEOPLE}")
    one.castlist("name", "film.cast", "1", "Łucja")
    one.castlist("merge", "film.cast", "2", "3", "--waive")
    one.castlist("undo", "film.cast")
    one.castlist("export", "film.cast", "--to", "csv")
    with (one.work / "film.cast.csv").open(encoding="utf-8-sig") as file:
        names = {row["character"] for row in csv.DictReader(file)}
    expect(len(names) == PEOPLE and "Łucja" in names, f"the exported names are {names}")
    expect(not list(one.home.iterdir()), "the home folder was written to")


def expect(holds: bool, wrong: str) -> None:
    """End the program with a message if a condition does not hold."""
    if not holds:
        raise SystemExit(f"check_wheel: {wrong}")


def main() -> None:
    """Try the wheel."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="another interpreter to try")
    parser.add_argument("--newest", action="store_true", help="install without constraints.txt")
    given = parser.parse_args()
    wheel: Path = given.wheel.resolve()
    with tempfile.TemporaryDirectory(prefix="castlist-wheel-") as place:
        folder = Path(place).resolve()
        pictures = fetch_pictures(ROOT / "demo" / "pictures")
        film = compose_demo(pictures, folder / "film.mp4", (320, 180), 5, 2.0)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        pins = [] if given.newest else ["-c", str(ROOT / "constraints.txt")]
        check(Try(folder, [*pins, str(wheel)], given.python), film)
    print("the wheel works")


if __name__ == "__main__":
    main()
