"""Match the characters of single videos across videos, by the centres of their balls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.current import CurrentCast
from castlist.cast.links import not_waived
from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.errors import InputError
from castlist.io.files import replacing
from castlist.io.untrusted import load_arrays

Rows = NDArray[np.int64]
#: :func:`complete_linkage`, or the same on a Ray cluster.
Link = Callable[..., Linkage]

#: From this number of tracks on the centre of a character is reliable: another one of the same
#: person is within this share of τ. (Chosen on validation: `benchmarks/bench_join.py --choose`.)
MANY_TRACKS, NEAR = 8, 0.6
_NOTHING: Mapping[int, Any] = MappingProxyType({})
_ROWS_AT_ONCE = 1024  # rows of the distance matrix per step, to bound memory
_BALLS_AT_ONCE = 65_536
_COLUMNS = ("numbers", "sums", "sizes", "names")  # of the file of balls


@dataclass(frozen=True)
class Balls:
    """The balls of characters.

    Attributes
    ----------
    numbers : ndarray of int, shape (n,)
        Ids of the characters.
    sums : ndarray of float64, shape (n, dim)
        The sum of each character's embeddings.
    sizes : ndarray of int, shape (n,)
        The number of tracks of each.
    names : ndarray of str, shape (n,)
        The name of each; empty for none.
    known : tuple of int
        The number of videos and the last event that they include.
    """

    numbers: Rows
    sums: NDArray[np.float64]
    sizes: Rows
    names: NDArray[np.str_]
    known: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls,
        points: NDArray[np.floating],
        labels: Rows,
        names: dict[int, str] | None = None,
        known: tuple[int, int] = (0, 0),
    ) -> Balls:
        """Return the balls of labelled points; points with the label -1 are left out."""
        kept = labels >= 0
        numbers, code, sizes = np.unique(labels[kept], return_inverse=True, return_counts=True)
        order = np.argsort(code, kind="stable")
        first = np.cumsum(sizes) - sizes
        some = points[kept][order].astype(float)
        sums = np.add.reduceat(some, first) if len(some) else np.empty((0, points.shape[1]))
        called = [(names or {}).get(number, "") for number in numbers.tolist()]
        return cls(numbers, sums, sizes, np.array(called, np.str_), known)

    @property
    def centres(self) -> NDArray[np.float32]:
        """Their centres, of unit length."""
        lengths = np.maximum(np.linalg.norm(self.sums, axis=1, keepdims=True), 1e-9)
        return np.asarray(self.sums / lengths, np.float32)

    def nearest(
        self, centres: NDArray[np.float32], radius: float
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Return the row of the ball that each centre belongs to, and its squared distance.

        Of the balls within ``radius``, that is the largest, otherwise the nearest. One person may
        have two balls, if some tracks had to be kept apart; which of them is slightly nearer means
        nothing.
        """
        best = np.full(len(centres), -1)
        score = np.full(len(centres), -np.inf)
        alike = np.full(len(centres), -np.inf)
        own = self.centres
        if len(own) and len(centres) and own.shape[1] != centres.shape[1]:
            raise InputError(
                f"balls have {own.shape[1]} dimensions, and embeddings {centres.shape[1]}; remove "
                "balls.npz, which is then computed again"
            )
        for start in range(0, len(own), _BALLS_AT_ONCE):
            part = slice(start, start + _BALLS_AT_ONCE)
            cosines = centres @ own[part].T
            scores = np.where(2 - 2 * cosines <= radius, 1 + self.sizes[part], cosines)
            row = scores.argmax(axis=1)
            found = scores.max(axis=1, initial=-np.inf)
            better = found > score
            score[better], best[better] = found[better], row[better] + start
            alike[better] = cosines[better, row[better]]
        return best, np.asarray(2 - 2 * alike)

    def with_more(
        self,
        points: NDArray[np.floating],
        labels: Rows,
        names: dict[int, str],
        known: tuple[int, int],
    ) -> Balls:
        """Return the balls with labelled points added, to existing balls or to new ones."""
        new = Balls.of(points, labels, names)
        numbers, code = np.unique(np.concatenate([self.numbers, new.numbers]), return_inverse=True)
        sums = np.zeros((len(numbers), self.sums.shape[1] or new.sums.shape[1]))
        sizes = np.zeros(len(numbers), np.int64)
        called = np.full(len(numbers), "", object)
        for one, rows in ((self, code[: len(self.numbers)]), (new, code[len(self.numbers) :])):
            if len(rows):
                sums[rows] += one.sums
                sizes[rows] += one.sizes
                called[rows] = np.where(one.names != "", one.names, called[rows])
        return Balls(numbers, sums, sizes, called.astype(np.str_), known)

    def save(self, path: Path) -> None:
        """Write the balls to a file."""
        with replacing(path) as partial, partial.open("wb") as file:
            np.savez(file, **{name: getattr(self, name) for name in (*_COLUMNS, "known")})

    @classmethod
    def load(cls, path: Path) -> Balls:
        """Read balls that :meth:`save` wrote."""
        try:
            found = load_arrays(path)
            numbers, sums, sizes, names = (found[name] for name in _COLUMNS)
            videos, event = (int(n) for n in found["known"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: damaged ({error})") from error
        fits = sums.ndim == 2 and numbers.shape == sizes.shape == names.shape == (len(sums),)
        kinds = "".join(column.dtype.kind for column in (numbers, sums, sizes, names))
        if not fits or kinds != "ifiU" or not np.isfinite(sums).all():
            raise InputError(f"{path}: damaged")
        return cls(numbers, sums, sizes, names, (videos, event))


@dataclass(frozen=True)
class NameConflict:
    """Two characters whose names contradict their faces; you decide which is right.

    Attributes
    ----------
    names : tuple of str
        Their names.
    numbers : tuple of int
        Their ids in the joined cast.
    """

    names: tuple[str, str]
    numbers: tuple[int, int]

    def __str__(self) -> str:
        one, other = self.numbers
        if self.names[0] == self.names[1]:
            return f"{one} and {other} are both called {self.names[0]}, but do not look alike"
        return f"{one} and {other} look alike, but are called {' and '.join(self.names)}"


@dataclass(frozen=True)
class LocalCharacters:
    """The characters of single videos, before they are matched: each belongs to one video.

    Attributes
    ----------
    of_track : ndarray of int, shape (n_tracks,)
        The character of each track.
    names : list of str
        The name of each; empty for none.
    video : list of int
        The video of each.
    balls : Balls
        The ball of each.
    cannot : ndarray of int, shape (m, 2)
        Pairs that are two people: they share a frame, or a person marked them as different.
    """

    of_track: Rows
    names: list[str]
    video: list[int]
    balls: Balls
    cannot: Rows

    def by_size(self) -> list[int]:
        """Return the characters by number of tracks, largest first."""
        sizes = np.bincount(self.of_track, minlength=len(self.names))
        return [int(unit) for unit in np.argsort(-sizes, kind="stable")]

    def apart(self) -> dict[int, set[int]]:
        """Return for each character those that it is kept apart from."""
        found: dict[int, set[int]] = {}
        for one, other in self.cannot.tolist():
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
        return found


def local_characters(
    casts: Sequence[CurrentCast], points: Sequence[NDArray[np.float32]]
) -> LocalCharacters:
    """Return the characters of videos, as corrected."""
    of_track, faces, names, cannot = [], [], [], []
    video: list[int] = []
    count = 0
    for film, cast in enumerate(casts):
        state = cast.state
        numbers, code = np.unique(state.owner, return_inverse=True)
        unit = code + count
        names += [state.names.get(number, "") for number in numbers.tolist()]
        video += [film] * len(numbers)
        marked = [(int(a[0]), int(b[0])) for a, b in state.different_pairs()]
        apart = np.concatenate(
            [not_waived(cast.overlaps, state.waived), np.array(marked, np.int64).reshape(-1, 2)]
        )
        pairs = unit[apart[~state.not_face[apart].any(axis=1)]]
        cannot.append(pairs[pairs[:, 0] != pairs[:, 1]])
        of_track.append(unit)
        faces.append(~state.not_face)
        count += len(numbers)
    empty = np.empty((0, 2), np.int64)
    whole = np.concatenate(of_track) if of_track else np.empty(0, np.int64)
    some = [x for x in points if len(x)]
    where = np.concatenate(some) if some else np.empty((0, 0), np.float32)
    face = np.concatenate(faces) if faces else np.empty(0, bool)
    return LocalCharacters(
        whole, names, video, Balls.of(where, np.where(face, whole, -1)),
        np.unique(np.sort(np.concatenate([empty, *cannot]), axis=1), axis=0),
    )  # fmt: skip


def differently_named(names: Sequence[str]) -> Rows:
    """Return the pairs of characters with different names."""
    called = np.array(names, np.str_)
    named = np.flatnonzero(called != "")
    i, j = np.triu_indices(len(named), 1)
    differ = called[named[i]] != called[named[j]]
    return np.stack([named[i[differ]], named[j[differ]]], axis=1)


def distant_pairs(balls: Balls, threshold: float) -> Rows:
    """Return the pairs of balls with many tracks that are within τ, but not near."""
    sure = np.flatnonzero(balls.sizes >= MANY_TRACKS)
    centres, pairs = balls.centres[sure], [np.empty((0, 2), np.int64)]
    for start in range(0, len(sure), _ROWS_AT_ONCE):
        far = 2 - 2 * centres[start : start + _ROWS_AT_ONCE] @ centres.T
        i, j = np.nonzero((far > NEAR * threshold) & (far <= threshold))
        pairs.append(np.stack([i + start, j], axis=1)[i + start < j])
    return sure[np.concatenate(pairs)]


def group_across_videos(
    units: LocalCharacters, threshold: float, link: Link = complete_linkage
) -> Rows:
    """Return the group of each character: complete linkage of the balls' centres at τ.

    Characters with different names, and those with many tracks that are not near, are
    cannot-linked. A character that is kept apart from a larger one of its group leaves the group.
    (If that were a cannot-link, one wrong track could keep two parts of a lead apart.)
    """
    rows = units.balls.numbers  # characters that have a face
    place = np.full(len(units.names), -1)
    place[rows] = np.arange(len(rows))
    names = place[differently_named(units.names)]
    groups = np.full(len(units.names), -1)
    if len(rows):
        two = np.concatenate(
            [names[(names >= 0).all(axis=1)], distant_pairs(units.balls, threshold)]
        )
        made = link(units.balls.centres, threshold, cannot_link=two)
        groups[rows] = made.labels
    apart = units.apart()
    last = int(groups.max(initial=-1))
    kept: dict[int, set[int]] = {}
    for unit in units.by_size():
        group = int(groups[unit])
        if group < 0 or apart.get(unit, set()) & kept.get(group, set()):
            last += 1
            group = groups[unit] = last
        kept.setdefault(int(group), set()).add(unit)
    return groups


def place_in_balls(
    units: LocalCharacters, balls: Balls, threshold: float, first: int,
    settled: Mapping[int, int] = _NOTHING, refused: Mapping[int, Collection[int]] = _NOTHING,
) -> tuple[Rows, list[NameConflict]]:  # fmt: skip
    """Return the id of each character: that of the ball it belongs to, or a new one.

    It belongs to the largest ball within the radius b = τ / 4, or else to the nearest within τ (if
    both have many tracks, within ``NEAR`` τ). New ids start at ``first``. The largest characters
    are placed first. A character does not join a ball that has another name, or that has a
    character it is kept apart from. Conflicts of names are returned too.

    Parameters
    ----------
    units, balls
        The characters of a video, and the balls.
    threshold : float
        τ.
    first : int
        The least unused id.
    settled : dict, optional
        Ids of characters that a person has placed.
    refused : dict, optional
        For each character, ids that it is kept apart from.
    """
    place = np.zeros(len(units.names), np.int64)
    place[list(settled)] = list(settled.values())
    conflicts = []
    next_number = first
    row = {unit: k for k, unit in enumerate(units.balls.numbers.tolist())}
    homes, far = balls.nearest(units.balls.centres, threshold / 4)
    apart = units.apart()
    called = dict(zip(balls.names.tolist(), balls.numbers.tolist(), strict=True))
    for unit in units.by_size():
        if unit in settled:
            continue
        if unit not in row:  # no face among its tracks
            place[unit], next_number = next_number, next_number + 1
            continue
        k, name = row[unit], units.names[unit]
        ball = int(homes[k])
        sure = min(units.balls.sizes[k], balls.sizes[ball]) >= MANY_TRACKS
        reach = threshold * NEAR if sure else threshold
        number = int(balls.numbers[ball]) if far[k] <= reach else 0
        theirs = str(balls.names[ball]) if number else ""
        if number and name and theirs and name != theirs:
            conflicts.append(NameConflict((theirs, name), (number, next_number)))
            number = 0
        if number in refused.get(unit, ()) or any(
            place[other] == number for other in apart.get(unit, ())
        ):
            number = 0
        if not number:
            number, next_number = next_number, next_number + 1
        place[unit] = number
        if name and called.get(name, number) != number:
            conflicts.append(NameConflict((name, name), (called[name], number)))
    return place, conflicts


def name_conflicts(units: LocalCharacters, place: Rows, threshold: float) -> list[NameConflict]:
    """Return named characters of different videos whose names contradict their faces.

    Two names within one video are no conflict: whoever gave them saw both characters.
    """
    centres = dict(zip(units.balls.numbers.tolist(), units.balls.centres, strict=True))
    named = sorted((k for k in centres if units.names[k]), key=lambda k: int(place[k]))
    found: dict[tuple[int, int], NameConflict] = {}
    for a, b in combinations(named, 2):
        numbers = int(place[a]), int(place[b])
        if numbers[0] == numbers[1] or units.video[a] == units.video[b]:
            continue
        names = units.names[a], units.names[b]
        if names[0] == names[1] or 2 - 2 * float(centres[a] @ centres[b]) <= threshold:
            found.setdefault(numbers, NameConflict(names, numbers))
    return list(found.values())
