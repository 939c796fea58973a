"""Train on made tracks, then find unseen people with no number given.

``make demo`` runs this. The tracks are vectors from a formula, not faces: docs/made-data.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from castlist import made_tracks, write_tracks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("demo"))
    parser.add_argument("--epochs", type=int, default=120)
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    write_tracks(folder / "train.parquet", made_tracks(800, 30_000, 5, seed=1))
    # Other people, by number and by draw, of the same made world.
    unseen = made_tracks(40, 2_000, 5, seed=2, first_identity=10_000)
    write_tracks(folder / "unseen.parquet", unseen)
    for words in (
        f"stats {folder}/unseen.parquet --figure {folder}/skew.png",
        f"train {folder}/train.parquet -o {folder}/run --epochs {arguments.epochs}",
        f"evaluate {folder}/unseen.parquet --model {folder}/run/model.safetensors "
        f"--figure {folder}/curve.png",
    ):
        print(f"\n$ castlist {words}", flush=True)
        subprocess.run([sys.executable, "-m", "castlist", *words.split()], check=True)
    print(f"\nOpen {folder}/curve.png: the circle is the number that the learned radius chose.")


if __name__ == "__main__":
    main()
