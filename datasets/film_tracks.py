"""Make training and test tracks like those of the paper: ``film_tracks.py DATA WORK --fold 0``.

The paper trains on 61,774 tracks of 1,214 actors in films. Such tracks are not at hand, so they are
made of photographs. DATA holds ``authors`` and ``faces`` (study.md). People are split so that
nobody is in two parts:

- People of Pins and of YouTube Faces are divided into three folds. Those of one fold play the named
  characters of the 12 test episodes (``recast.py``). People of LFW that are not trained on play the
  background. ``ytf.parquet`` has the real tracks of those of YouTube Faces.
- Everybody else, and LFW's training people, are the pool to train on. A track is one photograph (of
  YouTube Faces: one frame), degraded as television does; each photograph makes two tracks.
  So people of Pins have about 340 tracks, and most people of LFW two.
- ``films.parquet`` has the 1,280 people with most tracks but for a twentieth of them, who are in
  ``films_val.parquet``. ``pool.parquet`` has all people of the pool but for those 64.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from castlist import TrackSet, read_tracks, write_tracks
from castlist.cli.common import progress as progress_bar
from castlist.cli.common import read_names
from castlist.progress import Progress
from castlist.video.describe import open_describer
from castlist.video.detect import open_detector
from datasets.recast import Photos, key, photographs, recast, recast_folder
from datasets.study_data import describe_ytf, unpack

FOLDS = 3
LOOKS = 2  # tracks per photograph
FACES = 2  # described faces per track
ACTORS = 1280  # of the paper's 51 films
VALIDATED = 0.05
WIDTHS = (30.0, 200.0)  # pixels, of faces; drawn evenly on a logarithmic scale
SEED = 7


def folds(people: list[str]) -> list[list[str]]:
    """Divide people into folds at random."""
    order = np.random.default_rng(SEED).permutation(len(people))
    names = sorted(people)
    return [[names[i] for i in order[fold::FOLDS]] for fold in range(FOLDS)]


def empty_tracks(photos: dict[str, Photos]) -> TrackSet:
    """Return tracks with boxes and identities, and no features yet."""
    rng = np.random.default_rng(SEED)
    people = [who for who in sorted(photos) for _ in range(LOOKS * len(photos[who]))]
    low, high = np.log(WIDTHS)
    width = np.exp(rng.uniform(low, high, len(people))).repeat(FACES).astype(np.float32)
    box = np.stack([np.zeros_like(width), np.zeros_like(width), width, width * 1.3], axis=1)
    track = np.arange(len(people)).repeat(FACES)
    return TrackSet.from_faces(track, box=box, identity=np.array(people).repeat(FACES))


def split(tracks: TrackSet) -> tuple[TrackSet, TrackSet, TrackSet]:
    """Return the actors to train on, those to validate on, and all that are not validated on."""
    people, counts = np.unique(tracks.identity, return_counts=True)
    actors = people[np.argsort(-counts, kind="stable")[:ACTORS]]
    rng = np.random.default_rng(SEED)
    chosen = rng.choice(actors, round(VALIDATED * len(actors)), replace=False)
    validated = np.isin(tracks.identity, chosen)
    acting = np.isin(tracks.identity, actors)
    return tracks[acting & ~validated], tracks[validated], tracks[~validated]


def make(data: Path, work: Path, fold: int, progress: Progress) -> None:
    """Make the files of one fold, unless they are there already."""
    faces, out = data / "faces", work / f"fold{fold}"
    unpack(faces, work, "lfw", "pins", "ytf")
    lfw, pins, ytf = (photographs(work / name) for name in ("lfw", "pins", "ytf"))
    tested = {key(who) for part in (pins, ytf) for who in folds(list(part))[fold]}
    players = {who: photos for who, photos in {**ytf, **pins}.items() if key(who) in tested}
    trained = set(read_names(faces / "lfw_train_ids.txt"))
    others = read_names(faces / "lfw_val_ids.txt")
    known = {key(who) for who in {**ytf, **pins}}
    extras = {who: lfw[who] for who in others if who in lfw and key(who) not in known}
    pool = {who: photos for who, photos in {**ytf, **pins}.items() if key(who) not in tested}
    pool |= {who: lfw[who] for who in trained if who in lfw and key(who) not in known}
    out.mkdir(parents=True, exist_ok=True)
    recast_folder(data / "authors", out / "recast", players, extras, seed=SEED, progress=progress)
    if not (out / "ytf.parquet").is_file():
        describe_ytf(faces, work)
        tracks = read_tracks(work / "ytf.parquet")
        shown = np.array([key(who) in tested for who in tracks.identity])
        write_tracks(out / "ytf.parquet", tracks[shown])
    if not (out / "pool.parquet").is_file():
        photos = dict(pool)
        tracks, _ = recast(
            empty_tracks(photos), photos, open_detector, open_describer,
            seed=SEED, progress=progress,
        )  # fmt: skip
        train, validation, rest = split(tracks)
        write_tracks(out / "films.parquet", train)
        write_tracks(out / "films_val.parquet", validation)
        write_tracks(out / "pool.parquet", rest)  # last: where it is, everything is


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--fold", type=int, choices=range(FOLDS), default=0)
    given = parser.parse_args()
    if not (given.data / "faces").is_dir():
        parser.error(f"there is no {given.data / 'faces'}; DATA holds authors and faces")
    given.work.mkdir(parents=True, exist_ok=True)
    with progress_bar() as report:
        make(given.data, given.work, given.fold, report)


if __name__ == "__main__":
    main()
