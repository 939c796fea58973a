"""Fit how sure a character is: ``fit_certainty.py CASTS TRUTH EPISODES``.

CASTS holds ``<clip>.cast`` folders of ``castlist scan``, TRUTH a ``<clip>.csv`` per clip
(benchmark.md), EPISODES labelled tracks of validation people (``study_data.py``), which the
shipped model groups. Printed are the constants of ``cast/certainty.py``, and how many characters
are of one person, and how many tracks are in the character of theirs, from a probability on, each
clip left out of the fit in turn.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from castlist import TrackSet, cluster_tracks, read_tracks, shipped_model
from castlist.cast.cast_file import load_cast
from castlist.cast.certainty import margins, track_margins
from castlist.cast.folder import CAST, TRACKS
from castlist.io.truth import read_truth
from castlist.research.score.faces import match_faces, truth_of_tracks

WEIGHTS = 2.0, 0.8  # of a character of a clip, and of an episode: there are more of the latter
STRENGTH = 10.0  # inverse of the regularisation
LEVELS = (0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98)


@dataclass(frozen=True)
class Characters:
    """Margin of each character, whether it is of one person, and the same of single tracks.

    Of a single track it is the similarity to others, and whether its person has no other track.
    Then the margin of each track that has company, and whether its person owns the character.
    """

    margin: NDArray[np.float64]
    pure: NDArray[np.bool_]
    similarity: NDArray[np.float64]
    whole: NDArray[np.bool_]
    track_margin: NDArray[np.float64]
    right: NDArray[np.bool_]


def characters(tracks: TrackSet, labels: NDArray[np.int64], who: NDArray[np.str_]) -> Characters:
    """Compare characters with the truth; tracks without a person have an empty name."""
    kept = labels >= 0
    tracks, labels, who = tracks[kept], labels[kept], who[kept]
    features = tracks.mean_features()
    cohesion, others, count = margins(features, labels)
    own = [who[labels == name] for name in np.unique(labels)]
    people = [np.unique(names[names != ""]) for names in own]
    shown = np.array([(names != "").sum() for names in own])
    pure = np.array([len(some) == 1 for some in people])
    alone = np.array([len(some) == 1 and (who == some[0]).sum() == 1 for some in people])
    many, single = shown > 1, (count == 1) & (shown == 1)
    margin = track_margins(features, labels)
    told = ~np.isnan(margin) & (who != "")
    return Characters(
        (cohesion - others)[many], pure[many], others[single], alone[single],
        margin[told], (_owners(labels, who) == who)[told],
    )  # fmt: skip


def _owners(labels: NDArray[np.int64], who: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return the owner of each track's character: the person of most of its tracks."""
    owner = np.full(len(who), "", who.dtype)
    for name in np.unique(labels):
        people, counts = np.unique(who[(labels == name) & (who != "")], return_counts=True)
        if len(people):
            owner[labels == name] = people[counts.argmax()]
    return owner


def of_clip(cast: Path, truth: Path) -> Characters:
    """Return the characters of a scanned clip."""
    tracks, known = read_tracks(cast / TRACKS), read_truth(truth)
    matched = match_faces(tracks.time, tracks.box, known.time, known.box)
    who = truth_of_tracks(tracks.offsets, matched, known.who).who
    return characters(tracks, load_cast(cast / CAST, tracks).labels(), who)


def of_episode(path: Path) -> Characters:
    """Return the characters that the shipped model makes of labelled tracks."""
    tracks = read_tracks(path)
    tracks = tracks[tracks.labelled]
    labels = cluster_tracks(tracks, shipped_model(tracks.describer)).labels
    return characters(tracks, labels, tracks.identity)


def fit(
    clips: list[Characters], episodes: list[Characters], what: tuple[str, str]
) -> tuple[float, float]:
    """Return slope and offset of a logistic regression."""
    x, y = (np.concatenate([getattr(one, name) for one in clips + episodes]) for name in what)
    sizes = [sum(len(getattr(one, what[0])) for one in some) for some in (clips, episodes)]
    weight = np.repeat(WEIGHTS, sizes)
    found = LogisticRegression(C=STRENGTH).fit(x[:, None], y, weight)
    return float(found.coef_[0, 0]), float(found.intercept_[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("casts", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("episodes", type=Path)
    given = parser.parse_args()
    truths, files = sorted(given.truth.glob("*.csv")), sorted(given.episodes.glob("*.parquet"))
    if not truths or not files:
        parser.error("no truth, or no episodes (docs/research/benchmark.md)")
    clips = [of_clip(given.casts / f"{path.stem}.cast", path) for path in truths]
    episodes = [of_episode(path) for path in files]
    for name, what, more in (
        ("SLOPE, OFFSET", ("margin", "pure"), episodes),
        ("SINGLE_…", ("similarity", "whole"), episodes),
        # Hardly any of the thousands of recast tracks is wrong: they tell little about real videos.
        ("TRACK_…", ("track_margin", "right"), []),
    ):
        slope, offset = fit(clips, more, what)
        print(f"{name} = {slope:.2f}, {offset:.2f}")
    report("characters of one person", clips, episodes, ("margin", "pure"))
    report("tracks with their own person", clips, [], ("track_margin", "right"))


def report(
    name: str, clips: list[Characters], episodes: list[Characters], what: tuple[str, str]
) -> None:
    """Print how many are right from a probability on, each clip left out of the fit in turn."""
    chance, right = [], []
    for k, clip in enumerate(clips):
        slope, offset = fit(clips[:k] + clips[k + 1 :], episodes, what)
        chance += (1 / (1 + np.exp(-slope * getattr(clip, what[0]) - offset))).tolist()
        right += getattr(clip, what[1]).tolist()
    print(f"{name}: {sum(right)} of {len(right)}")
    for level in LEVELS:
        own = np.array(chance) >= level
        print(f"  from {level}: {np.array(right)[own].sum()} of {own.sum()}")


if __name__ == "__main__":
    main()
