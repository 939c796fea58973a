"""How many actions a cast takes to correct: ``bench_review.py --casts CASTS --truth TRUTH``.

A reviewer who knows the truth corrects casts until every two tracks are in one character if, and
only if, they show one person: by hand, and by answering castlist's questions and then by hand what
they leave. CASTS holds ``<clip>.cast`` folders of ``castlist scan``, TRUTH a ``<clip>.csv`` per
clip (benchmark.md); ``--episodes`` is a folder of labelled tracks, which the shipped model
groups. ``--fit`` prints the weights of ``cast/evidence.py`` as they come out on the clips that are
named by ``--clips`` and on the episodes. ``--left-out`` corrects each of these clips with weights
that were fitted without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from castlist import cluster_tracks, embed_tracks, read_tracks, shipped_model
from castlist.cast import evidence
from castlist.cast.answers import Answer
from castlist.cast.cast_file import load_cast
from castlist.cast.evidence import Facts, Groups, between, inside, shared_frames
from castlist.cast.folder import CAST, POINTS, TRACKS
from castlist.cast.questions import Compared, parts_of, questions
from castlist.cast.state import State
from castlist.io.truth import read_truth
from castlist.io.untrusted import load_array
from castlist.research.score.faces import match_faces, truth_of_tracks

Rows = NDArray[np.int64]
Weights = tuple[NDArray[np.float64], float]
NOBODY = -1
MOST = 500  # questions; never reached


@dataclass(frozen=True)
class Case:
    """Tracks, their people, and the result of a scan.

    Attributes
    ----------
    name : str
        Of the clip, or of the episode.
    truth : ndarray of int
        Who each track shows; -1 if that is not known, or no face.
    labels : ndarray of int
        The character of each.
    points, facts
        As for :func:`castlist.cast.questions.questions`.
    """

    name: str
    truth: Rows
    labels: Rows
    points: NDArray[np.float32]
    facts: Facts

    @classmethod
    def of_clip(cls, cast: Path, truth: Path) -> Case:
        """Read a clip that was scanned."""
        tracks, known = read_tracks(cast / TRACKS), read_truth(truth)
        matched = match_faces(tracks.time, tracks.box, known.time, known.box)
        who = truth_of_tracks(tracks.offsets, matched, known.who).who
        people = {name: k for k, name in enumerate(np.unique(who[who != ""]).tolist())}
        return cls(
            truth.stem, np.array([people.get(name, NOBODY) for name in who.tolist()], np.int64),
            load_cast(cast / CAST, tracks).labels(), load_array(cast / POINTS), Facts.of(tracks),
        )  # fmt: skip

    @classmethod
    def of_episode(cls, path: Path) -> Case:
        """Group labelled tracks as a scan does."""
        tracks = read_tracks(path)
        tracks = tracks[tracks.labelled]
        model = shipped_model(tracks.describer)
        return cls(
            path.stem, np.unique(tracks.identity, return_inverse=True)[1],
            cluster_tracks(tracks, model).labels, embed_tracks(tracks, model),
            Facts.of(tracks),
        )  # fmt: skip

    def who(self, rows: Rows) -> int:
        """Return the person of most of the given tracks."""
        known = self.truth[rows]
        known = known[known != NOBODY]
        return int(np.bincount(known).argmax()) if len(known) else NOBODY


def by_hand(one: Case, owner: Rows) -> tuple[int, int]:
    """Return the least actions that make a cast right; and the same if merges are of many at once.

    An action moves all tracks of one person from one character to another, or to a new one. If that
    is all there is in a character, it is a merge; counted last is one merge a person.
    """
    known = one.truth != NOBODY
    if not known.any():
        return 0, 0
    people, who = np.unique(one.truth[known], return_inverse=True)
    characters, where = np.unique(owner[known], return_inverse=True)
    cells = np.zeros((len(people), len(characters)), np.int64)
    np.add.at(cells, (who, where), 1)
    # Each person has at most one character, among those with their tracks, and does not share it.
    # All other tracks move. Of equal choices, the homes that hold most of somebody are taken.
    i, k = linear_sum_assignment(cells + len(who) * (cells > 0), maximize=True)
    home = np.full(len(people), -1)
    home[i[cells[i, k] > 0]] = k[cells[i, k] > 0]
    moving = (cells > 0) & (home[:, None] != np.arange(len(characters)))
    merged = moving & ((cells > 0).sum(axis=0) == 1)
    at_once = moving.sum() - merged.sum() + merged.any(axis=1).sum()
    return int(moving.sum()), int(at_once)


def true_answer(one: Case, pair: Compared) -> int:
    """Return which of the candidates the tracks in doubt belong to; -1 for none.

    What cannot be told stays where it is.
    """
    me = one.who(pair.other.tracks)
    if me == NOBODY:
        return 0 if pair.inside else -1
    return next((k for k, who in enumerate(pair.ones) if one.who(who.tracks) == me), -1)


def give(state: State, pair: Compared, said: int) -> None:
    """Let an answer hold, as the page gives it."""
    none = np.empty(0, np.int64)
    rows = pair.other.tracks if pair.inside else pair.other.shown
    ones = [who.shown for who in pair.ones]
    if said >= 0 and not (pair.inside and said):
        _hold(Answer(state, ones[said], [rows], [], [], []))
        return
    if pair.inside:  # it leaves
        _hold(Answer(state, ones[0], [], [rows], [], [ones[said] if said > 0 else none]))
        ones = ones[1:]
    if said < 0 and ones:
        _hold(Answer(state, rows, [], ones, [], [none] * len(ones)))


def _hold(answer: Answer) -> None:
    answer.check()
    answer.apply(count(int(answer.state.owner.max()) + 1))


def by_questions(one: Case) -> tuple[int, int, int, int, int]:
    """Answer questions until the cast is right, or none is left.

    Returns
    -------
    tuple of int
        Questions answered until then, answers in them that were changed from how they were shown,
        actions by hand for what is left, questions until none is left, and all actions of somebody
        who does what is left by hand as soon as it is one action.
    """
    state = State.of(one.labels + 1)
    changed, right, last = 0, None, None
    for asked in range(MOST):
        left = by_hand(one, state.owner)[0]
        if not left and right is None:
            right = asked
        if left <= 1 and last is None:
            last = asked + left
        found = questions(one.points, one.facts, state, 1)
        if not found:
            answered = asked if right is None else right
            return answered, changed, left, asked, answered + left if last is None else last
        for pair in found[0].pairs:
            said = true_answer(one, pair)
            changed += right is None and said != (0 if pair.inside else -1)
            give(state, pair, said)
    raise RuntimeError(f"{one.name}: questions never end")


def evidence_of(one: Case) -> dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Return what speaks for pairs of characters, and parts, being one person; and if they are."""
    place = np.unique(one.labels, return_inverse=True)[1]
    rows = [np.flatnonzero(place == c) for c in range(place.max() + 1)]
    who = np.array([one.who(own) for own in rows])
    i, j = (who != NOBODY).nonzero()[0][np.array(np.triu_indices((who != NOBODY).sum(), 1))]
    shared = shared_frames(place, place, one.facts.overlaps, set())
    everybody = Groups.of(one.points, one.facts, place)
    told, same = [np.empty((0, len(evidence.INSIDE)))], []
    for k, own in enumerate(rows):
        parts = parts_of(one.facts.mean_features, own)
        sides = [(one.who(own[part]), one.who(own[~part])) for part in parts]
        known = np.array([NOBODY not in side for side in sides], bool)
        others = [
            np.delete(x, k, axis=0) for x in (everybody.mean_embeddings, everybody.mean_features)
        ]
        told.append(inside(one.points, one.facts, own, parts, others)[known])
        same += [a == b for a, b in sides if NOBODY not in (a, b)]
    return {
        "BETWEEN": (between(everybody, everybody, shared)[i, j], who[i] == who[j]),
        "INSIDE": (np.concatenate(told), np.array(same, bool)),
    }


def fit(cases: Sequence[Case]) -> dict[str, Weights]:
    """Return the weights of the evidence, and where it begins, by logistic regression."""
    found = [evidence_of(one) for one in cases]
    made = {}
    for name in ("BETWEEN", "INSIDE"):
        x, y = (np.concatenate(part) for part in zip(*(one[name] for one in found), strict=True))
        scale = StandardScaler().fit(x)
        model = LogisticRegression(max_iter=5000).fit(scale.transform(x), y)
        weights = model.coef_[0] / scale.scale_
        made[name] = weights, float(model.intercept_[0] - weights @ scale.mean_)
    return made


def use(weights: dict[str, Weights]) -> None:
    """Let questions be asked by other weights."""
    evidence.BETWEEN, evidence.ODDS_BETWEEN = weights["BETWEEN"]
    evidence.INSIDE, evidence.ODDS_INSIDE = weights["INSIDE"]


def table(cases: Sequence[Case], left_out: Sequence[Case] = (), rest: Sequence[Case] = ()) -> None:
    """Print what each of some casts takes, and all together."""
    print("| | tracks | characters | people | by hand | merging at once | with questions "
          "| of them questions | changed answers | by hand | until none is left | last by hand |"
    )  # fmt: skip
    print("|---" + "|---:" * 11 + "|")
    total = np.zeros(11, int)
    for one in cases:
        if any(one is other for other in left_out):
            use(fit([*(other for other in left_out if other is not one), *rest]))
        asked, changed, left, all_asked, last = by_questions(one)
        known = one.truth != NOBODY
        row = np.array([
            known.sum(), len(np.unique(one.labels[known])), len(np.unique(one.truth[known])),
            *by_hand(one, one.labels), asked + left, asked, changed, left, all_asked, last,
        ])  # fmt: skip
        total += row
        print("|", " | ".join(map(str, [one.name, *row])), "|", flush=True)
    print("| all |", " | ".join(map(str, total)), "|")
    print(f"\nWith questions: {100 * total[5] / max(total[3], 1):.0f} % of the actions by hand\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--casts", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--clips", nargs="*", help="some of them; all if not given")
    parser.add_argument("--episodes", type=Path, help="a folder of labelled tracks")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    truths = sorted(given.truth.glob("*.csv")) if given.truth and given.casts else []
    truths = [path for path in truths if not given.clips or path.stem in given.clips]
    clips = [Case.of_clip(given.casts / f"{path.stem}.cast", path) for path in truths]
    files = sorted(given.episodes.glob("*.parquet")) if given.episodes else []
    episodes = [Case.of_episode(path) for path in files]
    if not clips and not episodes:
        parser.error("no clips with truth (docs/research/benchmark.md), and no episodes")
    if given.fit:
        for name, (weights, odds) in fit([*clips, *episodes]).items():
            print(f"{name} = np.array({weights.round(3).tolist()})\nODDS_{name} = {odds:.3f}")
        return
    if episodes:
        table(episodes)
    if clips:
        table(clips, clips if given.left_out else (), episodes)


if __name__ == "__main__":
    main()
