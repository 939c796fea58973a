"""Run the steps of the Dockerfile without Docker, in a folder, and scan a video with the result.

    python scripts/try_dockerfile.py --python python3.13

Absolute paths of the Dockerfile become paths in the folder. What is not imitated: the base image,
the user, and the isolation. ``docker build`` remains the real test.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from datasets.demo_video import compose_demo, fetch_pictures

ROOT = Path(__file__).parents[1]
FOLDERS = ("/src", "/opt/castlist", "/videos", "/tmp/castlist")


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile and their arguments, with lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (one.partition(" ") for one in joined.splitlines())]


class Machine:
    """A folder that stands in for the file system of a container."""

    def __init__(self, root: Path, python: str) -> None:
        self.root, self.here = root, root
        self.variables: dict[str, str] = {}
        (root / "bin").mkdir()
        (root / "bin" / "python").symlink_to(python)

    def inside(self, text: str) -> str:
        """Return a text with the folders of the Dockerfile in this folder."""
        return re.sub(rf"(?<![\w/])({'|'.join(FOLDERS)})\b", rf"{self.root}\1", text)

    def environment(self) -> dict[str, str]:
        """Return the variables of a process."""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_"))}
        found = {**kept, "PATH": path, "HOME": str(self.root)}
        for name, value in self.variables.items():
            found[name] = value.replace("$PATH", path)
        return found

    def do(self, word: str, rest: str) -> None:
        """Carry out one instruction."""
        if word == "WORKDIR":
            self.here = Path(self.inside(rest))
            self.here.mkdir(parents=True, exist_ok=True)
        elif word == "FROM":
            self.variables = {}
        elif word == "ENV":
            pairs = (one.partition("=") for one in shlex.split(self.inside(rest)))
            self.variables |= {name: value for name, _, value in pairs}
        elif word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            for source in sources:
                if (ROOT / source).is_dir():
                    ignore = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(ROOT / source, self.here / target, ignore=ignore)
                else:
                    shutil.copy(ROOT / source, self.here / target)
        elif word == "RUN":
            begun = time.perf_counter()
            command = ["sh", "-ec", self.inside(rest)]
            subprocess.run(command, cwd=self.here, env=self.environment(), check=True)
            print(f"RUN: {time.perf_counter() - begun:.0f} s", flush=True)


def main() -> None:
    """Run the steps, then ``castlist scan`` as ``docker run`` would."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="in place of the base image's")
    python = shutil.which(parser.parse_args().python)
    if python is None:
        sys.exit("no such interpreter")
    with tempfile.TemporaryDirectory(prefix="castlist-docker-") as place:
        machine = Machine(Path(place).resolve(), python)
        for word, rest in instructions((ROOT / "Dockerfile").read_text("utf-8")):
            machine.do(word, rest)
        installed = machine.root / "opt" / "castlist"
        size = sum(p.stat().st_size for p in installed.rglob("*") if p.is_file())
        print(f"/opt/castlist: {size / 1e6:.0f} MB")
        pictures = fetch_pictures(ROOT / "demo" / "pictures")
        compose_demo(pictures, machine.here / "film.mp4", (320, 180), 5, 2.0)
        for words in (("scan", "film.mp4"), ("export", "film.cast", "--to", "vtt", "-o", "-")):
            command = [str(installed / "bin" / "castlist"), *words]
            subprocess.run(command, cwd=machine.here, env=machine.environment(), check=True)


if __name__ == "__main__":
    main()
