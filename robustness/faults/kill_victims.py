"""Commands to be killed: their small inputs, and the phases they go through."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from datasets.synthetic_casts import episode, made_video, write_film

#: What a run makes, in a folder of its own.
OUT = "out"


@dataclass(frozen=True)
class Victim:
    """A command that can be killed.

    Attributes
    ----------
    words : tuple of str
        The command, in a folder that lies in the folder of the inputs.
    phases : tuple of (str, str)
        What is there when so much is done: the name of a phase and a file, in order.
    prepare : callable
        Puts into a run's folder what the command changes.
    before : callable, optional
        Called in the command's process first.
    already : str
        What it says, with exit code 2, where all was done before the kill.
    orphans : bool
        Whether it starts processes, which must end when it alone is killed.
    fresh : int
        One run in so many is in an interpreter of its own.
    look : callable, optional
        Looks at what a kill left in a run's folder, before the command is run again, and says what
        is wrong with it, if anything is.
    """

    words: tuple[str, ...]
    phases: tuple[tuple[str, str], ...]
    prepare: Callable[[Path], None] = lambda home: None
    before: Callable[[], None] | None = None
    already: str = ""
    orphans: bool = False
    fresh: int = 10
    look: Callable[[Path], str] | None = None


def victim(command: str, inputs: Path, clips: Path | None) -> Victim:
    """Make the inputs of a command."""
    inputs.mkdir(parents=True, exist_ok=True)
    makers = {"scan": _scan, "rescan": _rescan, "train": _train, "study": _study, "join": _join,
              "add": _add}  # fmt: skip
    return makers[command](inputs, clips)


def _scan(inputs: Path, clips: Path | None) -> Victim:
    video = inputs / "video.mp4"
    words = ["scan", "../inputs/video.mp4", "-o", OUT]
    if clips is not None:
        from datasets.clip_video import compose

        compose(clips, video, seed=5, size=(320, 180), shots=4)
    else:  # drawn faces, which no detector finds: their boxes are given
        tracks = made_video(people=3, each=2)
        write_film(video, tracks)
        rows = np.column_stack(
            [np.round(tracks.time * 5) + 1, tracks.track_of_face + 1, tracks.box,
             np.ones(tracks.n_faces)]
        )  # fmt: skip
        np.savetxt(inputs / "boxes.txt", rows, "%g", ",")
        words += ["--tracks", "../inputs/boxes.txt"]

    def often() -> None:
        """Write down what was watched after every shot, and not every five seconds."""
        import castlist.pipeline.scan as scanning

        scanning._SECONDS_PER_PART = 0.0

    return Victim(
        tuple(words),
        (("begun", "parts/settings.json"), ("faces", "parts/faces/*.jpg"), ("parts", "parts/*.npz"),
         ("tracks", "tracks.parquet"), ("points", "embeddings.npy"), ("cast", "cast.json"),
         ("report", "report.html")),
        before=often,
    )  # fmt: skip


def _rescan(inputs: Path, clips: Path | None) -> Victim:
    """Scan a video that is scanned and corrected, with another setting."""
    from castlist.cast.cast_file import digest
    from castlist.cast.corrections import Corrections
    from castlist.cluster.links import by_first_appearance
    from castlist.errors import InputError
    from castlist.pipeline.scan import scan
    from castlist.pipeline.scan_settings import ScanSettings
    from castlist.video.tracking_settings import TrackingSettings

    one = _scan(inputs, clips)
    boxes = inputs / "boxes.txt" if clips is None else None
    before, after = inputs / "before.cast", inputs / "after.cast"
    video = inputs / "video.mp4"
    _apart(lambda: scan(video, before, ScanSettings(tracks=boxes)))
    slow = ScanSettings(tracks=boxes, tracking=TrackingSettings(sample_rate=2.5))
    cast = Corrections(before, "ann")
    cast.name(1, "Ann")
    cast.close()
    shutil.copytree(before, after)
    _apart(lambda: scan(video, after, slow))

    def prepare(home: Path) -> None:
        shutil.copytree(before, home / OUT / "video.cast")

    def clustering(folder: Path) -> str:
        cast = Corrections(folder)
        scanned = cast.scanned
        cast.close()
        # A scan that was killed may have reserved ids, and no more: new characters have others.
        rows = (by_first_appearance(scanned.labels).tobytes(), scanned.points.tobytes())
        return digest(scanned.scans[0].encode(), *rows)

    def pictures(folder: Path) -> str:
        return digest(*(picture.read_bytes() for picture in sorted(folder.glob("faces/*.jpg"))))

    whole = {clustering(folder): pictures(folder) for folder in (before, after)}

    def look(home: Path) -> str:
        """Read the cast of a scan that was killed: it is the old one, the new one, or none."""
        copy = home.with_name(f"{home.name}-seen")
        shutil.copytree(home / OUT / "video.cast", copy)
        try:
            shown = whole.get(clustering(copy))
            if shown is None:
                return "tracks of one scan, people of another"
            return "" if shown == pictures(copy) else "people of one scan, pictures of another"
        except InputError:
            return ""
        finally:
            shutil.rmtree(copy)

    words = (*one.words, "--sample-rate", "2.5")
    return replace(one, words=words, prepare=prepare, look=look,
                   phases=(("before", "cast.json"), ("parts", "parts/*.npz")))  # fmt: skip


def _apart(work: Callable[[], object]) -> None:
    """Do something in a process of its own: this one must stay fit for forks."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("the inputs cannot be made")


def _train(inputs: Path, clips: Path | None) -> Victim:
    from castlist import write_tracks
    from castlist.research import SyntheticWorld, synthetic_tracks

    world = SyntheticWorld(dim=16, who=8, how=6, loudness=0.8)
    write_tracks(inputs / "made.parquet", synthetic_tracks(40, 400, 3, world=world, seed=1))
    words = "research train ../inputs/made.parquet -o out --recipe paper --epochs 12 --hidden 32"
    return Victim(
        tuple(words.split()),
        (("state", "state.safetensors"), ("log", "log.jsonl"), ("model", "model.safetensors")),
    )


PLAN = """
title = "A small study"
seeds = [0]
methods = ["base", "triplet", "ball"]
finetune_iterations = 5
[train]
tracks = "train.parquet"
validation = "val.parquet"
[[test]]
name = "films"
tracks = "test"
[method.triplet]
hidden = [16]
epochs = 2
[method.ball]
hidden = [16]
epochs = 2
"""


def _study(inputs: Path, clips: Path | None) -> Victim:
    from castlist import write_tracks
    from castlist.research import SyntheticWorld, synthetic_tracks

    world = SyntheticWorld(dim=16, who=8, how=6, loudness=0.8)
    people = synthetic_tracks(40, 300, 3, world=world, seed=1)
    held = np.isin(people.identity, np.unique(people.identity)[:12])
    write_tracks(inputs / "train.parquet", people[~held])
    write_tracks(inputs / "val.parquet", people[held])
    one = replace(synthetic_tracks(6, 40, 3, world=world, seed=2), videos=("film",))
    write_tracks(inputs / "test" / "film.parquet", one)
    (inputs / "study.toml").write_text(PLAN, "utf-8")

    def forked() -> None:
        """Fork its processes: each that is spawned imports PyTorch anew."""
        import multiprocessing

        context = multiprocessing.get_context("fork")
        multiprocessing.get_context = lambda method=None: context  # type: ignore[assignment]

    return Victim(
        ("research", "study", "../inputs/study.toml", "-o", OUT),
        (("begun", "study.json"), ("training", "runs/*/state.safetensors"),
         ("trained", "runs/*/answer.json"), ("tested", "cache/*.json"), ("page", "index.html"),
         ("tables", "tables.md"), ("records", "records.csv")),
        before=forked,
        orphans=True,
        fresh=25,
    )  # fmt: skip


def episodes(inputs: Path) -> list[Path]:
    """Write the casts of three videos, two of them corrected."""
    from castlist.cast.corrections import Corrections

    three = [episode(inputs, f"e{k}", people, seed=k) for k, people in ((1, 6), (2, 5), (3, 7))]
    for folder, who in zip(three, ("ann", "bob", "cy"), strict=True):
        cast = Corrections(folder, who)
        cast.name(1, who.title())
        cast.not_face([str(cast.tracks.ids[-1])])
        cast.close()
    return three


_JOINED = (
    ("episodes", "episodes/*/tracks.parquet"), ("log", "corrections.db"), ("run", "run.json"),
    ("balls", "balls.npz"), ("report", "report.html"),
)  # fmt: skip


def _join(inputs: Path, clips: Path | None) -> Victim:
    episodes(inputs)
    words = "join ../inputs/e1.cast ../inputs/e2.cast ../inputs/e3.cast -o out"
    return Victim(tuple(words.split()), _JOINED, already="exists already")


def _add(inputs: Path, clips: Path | None) -> Victim:
    from castlist.cast.corrections import Corrections
    from castlist.cast.series import join
    from castlist.report.page import report_folder

    three = episodes(inputs)
    joined = inputs / "joined.cast"
    join(three[:2], joined)
    cast = Corrections(joined, "dee")
    cast.name(2, "Dee")  # so that the balls are out of date
    report_folder(cast)
    cast.close()

    def prepare(home: Path) -> None:
        shutil.copytree(joined, home / OUT)

    words = f"add {OUT} ../inputs/e3.cast"
    phases = (
        ("episode", "episodes/e3/tracks.parquet"), ("labels", "episodes/e3/characters.npy"),
    )  # fmt: skip
    return Victim(tuple(words.split()), phases, prepare, already="already")


def phase(one: Victim, out: Path) -> str:
    """Return how far a command was when it was killed, from the files that exist."""
    there = [name for name, file in one.phases if any(_inside(out, file))]
    return there[-1] if there else "nothing"


def _inside(out: Path, file: str) -> Sequence[Path]:
    # A scan's folder is in the folder that was asked for, and is there while it grows.
    return [*out.glob(file), *out.glob(f"*.cast/{file}"), *out.parent.glob(f".{out.name}.*/{file}"),
            *out.parent.glob(f".{out.name}.*/*/{file}")]  # fmt: skip
