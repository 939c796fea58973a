"""Make the data of docs/research/study.md: ``python datasets/study_data.py DATA WORK``.

DATA holds ``authors`` and ``faces`` (docs/research/data.md). WORK receives the photographs and
these tracks: LFW's training people as on television, LFW's validation people, YouTube Faces, and
the 12 recast episodes. For validation, the BBT episodes are recast with other people and with
people who look alike, and the BUFFY episodes with other people. LFW is also described by other
networks, of which some are for research only. ``--for review`` makes only recast episodes, and
BBT's once more. Files that exist are not made again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from castlist.cli.common import progress as progress_bar
from castlist.cli.common import read_names
from castlist.video.describe import DEFAULT_DESCRIBER
from datasets.recast import key, photographs, recast_folder

FACES = 24_000  # of LFW's training people
OTHER_DESCRIBERS = ("sface", "edgeface", "arcface-mbf")  # the last two are for research only
NAMED_IN_TEST = 37
SEED, VALIDATION_SEED = 1, 2
# More of validation. BUFFY's have a cast each: all of them together, and the sixth, have more
# roles than there are people for validation. Look-alikes play BBT's once more.
BUFFY = {f"buffy_s05e0{k}": (f"buffy_s05e0{k}", 10 + k) for k in range(1, 6)}
REVIEW = {"bbt": ("bbt_*", 3)} | BUFFY
ALIKE = "recast_alike"


def unpack(faces: Path, work: Path, *names: str) -> None:
    for name in names:
        if not (work / name).is_dir():
            print(f"unpacking {name}.zip", flush=True)
            with TemporaryDirectory(dir=work) as partial:  # half an archive is none
                zipfile.ZipFile(faces / f"{name}.zip").extractall(partial)
                (Path(partial) / name).rename(work / name)


def describe(folder: Path, out: Path, *options: str) -> None:
    if not out.is_file():
        run(["-m", "castlist", "research", "describe", str(folder), *options, "-o", str(out)])


def run(words: list[str]) -> None:
    print("$ python", *words, flush=True)
    subprocess.run([sys.executable, *words], check=True)


def describe_lfw(faces: Path, work: Path) -> None:
    """Describe LFW's training people as on television, and its validation people.

    A track of validation is a stretch of faces that look alike, as the tracks of a video do.
    """
    unpack(faces, work, "lfw")
    made, people = work / "television", str(faces / "lfw_train_ids.txt")
    degrade = ["-m", "datasets.television_faces", str(work / "lfw"), people, str(made)]
    if not (made / "faces.npz").is_file():  # written last
        run([*degrade, "--count", str(FACES)])
    for describer in ("", *OTHER_DESCRIBERS):
        prefix, option = (f"{describer}_", ["--describer", describer]) if describer else ("", [])
        tracks = work / f"{prefix}television.parquet"
        if not tracks.is_file():
            run([*degrade, "--describe", str(tracks), *option])
        validation = ["--people", str(faces / "lfw_val_ids.txt"), "--television", "4", *option]
        describe(work / "lfw", work / f"{prefix}val.parquet", *validation)


def describe_ytf(faces: Path, work: Path) -> None:
    """Describe the real tracks of YouTube Faces."""
    unpack(faces, work, "ytf")
    describe(work / "ytf", work / "ytf.parquet")


def recast_part(data: Path, work: Path, part: str, describer: str = "") -> None:
    """Recast the 12 episodes for the test, or, with other people, BBT's for validation.

    If a describer is given, the folder's name begins with its name.
    """
    faces = data / "faces"
    unpack(faces, work, "lfw", "pins")
    pins = photographs(work / "pins")
    order = [sorted(pins)[i] for i in np.random.default_rng(SEED).permutation(len(pins))]
    parts = {
        "recast_val": ("bbt_*", VALIDATION_SEED),
        "recast": ("*", SEED),
        ALIKE: ("bbt_*", 4),
        **{f"review_val/{name}": what for name, what in REVIEW.items()},
    }
    test = part == "recast"
    people = order[:NAMED_IN_TEST] if test else order[NAMED_IN_TEST:]
    list_of = "excluded" if test else "val"
    videos, seed = parts[part]
    named = {person: pins[person] for person in people}
    unnamed = photographs(work / "lfw", read_names(faces / f"lfw_{list_of}_ids.txt"))
    # People of Pins play named characters only, so nobody is in both parts.
    unnamed = {one: unnamed[one] for one in unnamed if key(one) not in map(key, pins)}
    print(f"recasting {part} {describer}", flush=True)
    out = work / (f"{describer}_{part}" if describer else part)
    with progress_bar() as report:
        recast_folder(
            data / "authors", out, named, unnamed, videos=videos, seed=seed,
            alike=part == ALIKE, describer=describer or DEFAULT_DESCRIBER, progress=report,
        )  # fmt: skip


def needed(data: Path, work: Path, purpose: str) -> list[Path]:
    """Return what must be there to begin: the authors' data, and photographs not unpacked yet."""
    archives = ["lfw", "pins"] if purpose == "review" else ["lfw", "pins", "ytf"]
    lists = ["excluded", "val"] if purpose == "review" else ["excluded", "val", "train"]
    faces = data / "faces"
    return [
        data / "authors",
        *(faces / f"{name}.zip" for name in archives if not (work / name).is_dir()),
        *(faces / f"lfw_{name}_ids.txt" for name in lists),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--for", dest="purpose", choices=["study", "review"], default="study")
    given = parser.parse_args()
    data, work = given.data, given.work
    if missing := [path for path in needed(data, work, given.purpose) if not path.exists()]:
        parser.error(
            f"there is no {missing[0]}: docs/research/data.md lists what to download and how to "
            "prepare it; CASTLIST_DATA names the folder"
        )
    work.mkdir(parents=True, exist_ok=True)
    recast_part(data, work, "recast_val")
    recast_part(data, work, "recast")
    for name in BUFFY:
        recast_part(data, work, f"review_val/{name}")
    if given.purpose == "review":
        recast_part(data, work, "review_val/bbt")
        return
    recast_part(data, work, ALIKE)
    for describer in OTHER_DESCRIBERS:  # to choose the epoch of their models
        recast_part(data, work, "recast_val", describer)
    describe_lfw(data / "faces", work)
    describe_ytf(data / "faces", work)


if __name__ == "__main__":
    main()
