"""Cut tracks: a track with two people in it, as two tracks from a time on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
#: Tracks whose embeddings stand for that of a part: those that resemble it most.
_NEAREST = 3


@dataclass(frozen=True)
class CutTracks:
    """Tracks of which some are cut.

    Attributes
    ----------
    tracks : TrackSet
        The tracks, parts in the place of those that are cut.
    origin : ndarray of int, shape (n_tracks,)
        Which track each was before all cuts, as a row.
    marks : tuple of tuples of (str, str)
        For each track the times at which it was cut, as text, and its id: before all cuts, after
        the first, and so on. The last are its own. (Times, because the same track may be cut at one
        time, made whole again, and cut at another: then its parts are called the same.)
    """

    tracks: TrackSet
    origin: Rows
    marks: tuple[tuple[tuple[str, str], ...], ...]

    @classmethod
    def whole(cls, tracks: TrackSet) -> CutTracks:
        """Begin with tracks that are not cut."""
        return cls(
            tracks, np.arange(len(tracks)), tuple((("", name),) for name in tracks.ids.tolist())
        )

    def place_of(self, row: int, seconds: float) -> int | None:
        """Return the first face of a track from a time on; None unless some are before it."""
        first, last = self.tracks.offsets[row : row + 2].tolist()
        found = first + int(np.searchsorted(self.tracks.time[first:last], seconds))
        return found if first < found < last else None

    def cut(self, row: int, seconds: float) -> CutTracks:
        """Return the tracks with one of them cut; the same if it has no faces on one side."""
        face = self.place_of(row, seconds)
        if face is None:
            return self
        tracks = self.tracks
        counts = np.ones(len(tracks), np.int64)
        counts[row] = 2
        again = np.repeat(np.arange(len(tracks)), counts)
        names = _part_names(str(tracks.ids[row]), set(tracks.ids.tolist()))
        ids = tracks.ids[again].tolist()
        ids[row : row + 2] = names
        end = tracks.end[again].copy()
        end[row] = seconds
        times = f"{self.marks[row][-1][0]}@{seconds!r}"
        parts = tuple((*self.marks[row], (times, name)) for name in names)
        return CutTracks(
            replace(
                tracks, ids=np.array(ids, np.str_), video=tracks.video[again],
                shot=tracks.shot[again], identity=tracks.identity[again], end=end,
                offsets=np.insert(tracks.offsets, row + 1, face),
            ),
            self.origin[again],
            (*self.marks[:row], *parts, *self.marks[row + 1 :]),
        )  # fmt: skip

    @property
    def parts(self) -> Rows:
        """The tracks that are parts of another."""
        return np.array([k for k, marks in enumerate(self.marks) if len(marks) > 1], np.int64)

    def looks(self, whole: Floats) -> Floats:
        """Return mean features of unit length: a part's are its own, if one of its faces has one.

        Parameters
        ----------
        whole : ndarray of shape (n, dim)
            Those of the tracks before all cuts.
        """
        found = whole[self.origin]
        for row in self.parts.tolist():
            features = self.tracks.require_features()
            faces = np.arange(*self.tracks.offsets[row : row + 2])
            faces = faces[features.described[faces]]
            if len(faces):
                found[row] = unit(features.take(faces).mean(axis=0))
        return found

    def points(self, whole: Floats, looks: Floats) -> Floats:
        """Return embeddings: a part's is the mean of those of the tracks that look most like it.

        A model that could embed it may be gone: one that was fine-tuned is not kept.

        Parameters
        ----------
        whole : ndarray of shape (n, dim)
            Those of the tracks before all cuts.
        looks : ndarray of shape (n_tracks, dim)
            As :meth:`looks` gives them.
        """
        parts = self.parts
        found = whole[self.origin]
        others = np.setdiff1d(np.arange(len(self.tracks)), parts)
        if len(others):
            for row in parts.tolist():
                near = others[np.argsort(-(looks[others] @ looks[row]), kind="stable")[:_NEAREST]]
                found[row] = unit(whole[self.origin[near]].mean(axis=0))
        return found


def unit(x: NDArray[np.floating]) -> Floats:
    """Return vectors of unit length, but for those of none."""
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.maximum(lengths, 1e-9), np.float32)


def _part_names(name: str, taken: set[str]) -> list[str]:
    """Return ids for two parts of a track that no other track has."""
    while {f"{name}a", f"{name}b"} & taken:
        name += "_"
    return [f"{name}a", f"{name}b"]
