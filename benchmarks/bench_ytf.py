"""The shipped model on YouTube Faces, whose people it never saw: docs/shipped-model.md.

``python benchmarks/bench_ytf.py FACES WORK``: FACES holds ytf.zip, WORK the validation tracks that
train_shipped.py described, on which the threshold of raw SFace is chosen.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

from train_shipped import row

from castlist import (
    choose_threshold,
    cluster_tracks,
    evaluate,
    read_tracks,
    shipped_model,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faces", type=Path)
    parser.add_argument("work", type=Path)
    arguments = parser.parse_args()
    work: Path = arguments.work
    file = work / "ytf.parquet"
    if not file.is_file():
        zipfile.ZipFile(arguments.faces / "ytf.zip").extractall(work)
        words = ["describe", str(work / "ytf"), "-o", str(file)]
        subprocess.run([sys.executable, "-m", "castlist", *words], check=True)
    test, validation = read_tracks(file), read_tracks(work / "val.parquet")
    print("\n| on YouTube Faces | τ | #Ch | #Cl | NMI | WCP |\n|---|---|---|---|---|---|")

    model = shipped_model()
    found = cluster_tracks(test, model)
    print(row("shipped model", model.threshold, evaluate(test.identity, found.labels)))
    for name, tau in (
        ("SFace, τ of the best validation NMI", choose_threshold(None, validation)),
        ("SFace, τ of validation's number", choose_threshold(None, validation, by="count")),
        ("SFace, the best τ of all, which nobody can know", choose_threshold(None, test)),
    ):
        found = cluster_tracks(test, threshold=tau)
        print(row(name, tau, evaluate(test.identity, found.labels)))


if __name__ == "__main__":
    main()
