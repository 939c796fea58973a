"""How many actions a cast takes to correct: ``python benchmarks/bench_review.py study-data``.

A reviewer who knows the truth corrects the 12 recast episodes, as scanned by default, until WCP is
0.99 and every named character is one cluster, in three ways: answering castlist's questions, moving
wrong tracks one by one, and going through pairs of clusters by distance. ``--validation`` does the
same on recast validation, and ``--fit`` prints the weights of ``cast/evidence.py`` as they come out
there.
"""

from __future__ import annotations

import argparse
import hashlib
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from castlist import (
    TrackSet,
    cluster_tracks,
    embed_tracks,
    finetune,
    read_tracks,
    shipped_model,
    wcp,
)
from castlist.cast.answers import Answer
from castlist.cast.doubts import parts_of
from castlist.cast.evidence import Facts, Groups, between, inside, shared_frames
from castlist.cast.questions import questions
from castlist.cast.state import State

Rows = NDArray[np.int64]
ENOUGH = 0.99
MOST = 2000  # actions


class Episode:
    """Tracks, their truth, and what a scan makes of them.

    Parameters
    ----------
    tracks : TrackSet
        Labelled.
    cache : Path
        Where embeddings are kept, which take a minute each.
    """

    def __init__(self, tracks: TrackSet, cache: Path) -> None:
        self.name = tracks.videos[0]
        self.truth = np.unique(tracks.identity, return_inverse=True)[1]
        names = np.unique(tracks.identity)
        self.named = ~np.char.startswith(names, "unknown")
        self.facts = Facts.of(tracks)
        model = shipped_model()
        weights = b"".join(v.numpy().tobytes() for v in model.state_dict().values())
        means = tracks.mean_features()
        file = cache / f"{hashlib.sha256(weights + means.tobytes()).hexdigest()[:16]}.npz"
        if not file.is_file():
            cache.mkdir(parents=True, exist_ok=True)
            tuned = finetune(model, tracks)
            labels = cluster_tracks(tracks, tuned).labels
            np.savez(file, points=embed_tracks(tracks, tuned), labels=labels)
        with np.load(file) as kept:
            self.points, self.labels = kept["points"], kept["labels"]

    def who(self, rows: Rows) -> int:
        """Return who most of some tracks are."""
        return int(np.bincount(self.truth[rows]).argmax())

    def owners(self, labels: Rows) -> dict[int, int]:
        """Return who each cluster is, mostly."""
        return {int(c): self.who(np.flatnonzero(labels == c)) for c in np.unique(labels)}

    def done(self, labels: Rows) -> bool:
        """Say whether it is good enough."""
        named = [who for who in self.owners(labels).values() if self.named[who]]
        return len(named) == len(set(named)) and wcp(self.truth, labels) >= ENOUGH


def by_questions(one: Episode) -> int:
    """Answer castlist's questions, each of them one action."""
    state, actions = State.of(one.labels + 1), 0
    new = count(int(state.base.max()) + 1)
    while not one.done(state.owner) and actions < MOST:
        asked = questions(one.points, one.facts, state, 1)
        if not asked:
            return MOST
        question, actions = asked[0], actions + 1
        me = one.who(question.one.tracks)
        body: dict[str, Any] = {"same": [], "different": [], "instead": [], "mixed": []}
        for other, instead in zip(question.others, question.instead, strict=True):
            own = other.character == question.one.character
            who = one.who(other.tracks)
            body["same" if who == me else "different"].append(other.tracks if own else other.shown)
            if who != me:
                right = instead if instead is not None and one.who(instead.tracks) == who else None
                body["instead"].append(right.shown if right else other.shown[:0])
        answer = Answer(state, question.one.shown, **body)
        answer.check()
        answer.apply(new)
    return actions


def one_by_one(one: Episode, labels: Rows) -> int:
    """Move tracks to the cluster of whom they are: the wrong ones, then those of smaller pieces."""
    labels, actions = labels.copy(), 0
    while not one.done(labels):
        owners = one.owners(labels)
        sizes = np.bincount(labels)
        home: dict[int, int] = {}
        for cluster in sorted(owners, key=lambda c: -sizes[c]):
            home.setdefault(owners[cluster], cluster)
        belongs = np.array([owners[c] for c in labels.tolist()])
        wrong = np.flatnonzero(belongs != one.truth)
        astray = np.array([home.get(who, -1) for who in one.truth.tolist()]) != labels
        astray &= one.named[one.truth] & (belongs == one.truth)
        purity = wcp(one.truth, labels) < ENOUGH
        track = int(wrong[0] if purity and len(wrong) else np.flatnonzero(astray)[0])
        labels[track] = home.get(int(one.truth[track]), labels.max() + 1)
        actions += 1
    return actions


def by_distance(one: Episode) -> int:
    """Say yes or no to pairs of clusters, nearest first; then move what is still wrong."""
    labels, actions = one.labels.copy(), 0
    between = 2 - 2 * one.points @ one.points.T
    refused: set[tuple[int, int]] = set()
    while actions < MOST:
        owners = one.owners(labels)
        named = [who for who in owners.values() if one.named[who]]
        if len(named) == len(set(named)):
            return actions + one_by_one(one, labels)
        clusters = sorted(owners)
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], clusters)
        far = np.maximum.reduceat(between[np.ix_(order, order)], starts, axis=0)
        far = np.maximum.reduceat(far, starts, axis=1)
        far[np.tril_indices(len(clusters))] = np.inf
        for i, j in np.dstack(np.unravel_index(np.argsort(far, axis=None), far.shape))[0].tolist():
            a, b = clusters[i], clusters[j]
            if i >= j or (a, b) in refused:
                continue
            actions += 1
            if owners[a] == owners[b]:
                labels[labels == b] = a
                refused = {pair for pair in refused if b not in pair and a not in pair}
                break
            refused.add((a, b))
        else:
            break
    return actions + one_by_one(one, labels)


def fit(episodes: list[Episode]) -> None:
    """Print the weights of the evidence in ``cast/evidence.py``."""
    told: dict[str, list[NDArray[Any]]] = {"between": [], "inside": []}
    same: dict[str, list[bool]] = {"between": [], "inside": []}
    for one in episodes:
        place = np.unique(one.labels, return_inverse=True)[1]
        rows = [np.flatnonzero(place == c) for c in range(place.max() + 1)]
        who = np.array([one.who(own) for own in rows])
        i, j = np.triu_indices(len(rows), 1)
        shared = shared_frames(place, place, one.facts.overlaps, set())
        everybody = Groups.of(one.points, one.facts, place)
        told["between"].append(between(everybody, everybody, shared)[i, j])
        same["between"] += (who[i] == who[j]).tolist()
        for k, own in enumerate(rows):
            parts = parts_of(one.facts.looks, own)
            others = [np.delete(x, k, axis=0) for x in (everybody.towards, everybody.looks)]
            told["inside"].append(inside(one.points, one.facts, own, parts, others))
            same["inside"] += [one.who(own[part]) == one.who(own[~part]) for part in parts]
    for name in told:
        x, y = np.concatenate(told[name]), np.array(same[name])
        scale = StandardScaler().fit(x)
        made = LogisticRegression(max_iter=5000).fit(scale.transform(x), y)
        weights = made.coef_[0] / scale.scale_
        start = float(made.intercept_[0] - weights @ scale.mean_)
        print(f"{name}: {sum(y)} of {len(y)}, {weights.round(3).tolist()}, {start:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    validation = given.validation or given.fit
    if not any(given.work.glob(f"recast{'_val' if validation else ''}/*.parquet")):
        parser.error(f"{given.work} has no recast episodes; study_data.py --for review makes them")
    folders = ["recast_val/*", "review_val/*/*"] if validation else ["recast/*"]
    paths = [path for one in folders for path in sorted(given.work.glob(f"{one}.parquet"))]
    episodes = [Episode(read_tracks(path), given.work / "review") for path in paths]
    if given.fit:
        fit(episodes)
        return
    print("| episode | tracks | #Ch | #Cl | WCP | questions | one by one | by distance |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    total = np.zeros(3, int)
    for one in episodes:
        counts = by_questions(one), one_by_one(one, one.labels), by_distance(one)
        total += counts
        facts = [len(one.truth), len(one.named), len(np.unique(one.labels))]
        purity = f"{100 * wcp(one.truth, one.labels):.1f}"
        print("|", " | ".join(map(str, [one.name, *facts, purity, *counts])), "|", flush=True)
    print("| all | | | | |", " | ".join(map(str, total)), "|")


if __name__ == "__main__":
    main()
