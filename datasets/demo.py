"""Scan a sample video that is composed on the spot: ``make demo`` runs this."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from datasets.demo_video import compose_demo, fetch_pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("demo"))
    folder: Path = parser.parse_args().folder
    sample = folder / "sample.mp4"
    if not sample.is_file():
        print("composing a sample video of four people …", flush=True)
        compose_demo(fetch_pictures(folder / "pictures"), sample)
    print(f"$ castlist scan {sample}", flush=True)
    subprocess.run([sys.executable, "-m", "castlist", "scan", str(sample)], check=True)
    print("Open the report in a browser: it needs no server.")


if __name__ == "__main__":
    main()
