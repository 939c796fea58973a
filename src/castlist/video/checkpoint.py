"""The checkpoint of a scan: tracked shots on disk, so that an interruption loses only seconds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import CastlistError
from castlist.features import Features
from castlist.io.files import replacing
from castlist.io.pictures import PICTURES, Cover, write_covers
from castlist.io.untrusted import load_arrays, parse_json
from castlist.tracks import TrackSet
from castlist.video.pictures import write_pictures
from castlist.video.sampling import ResumePoint
from castlist.video.setups import number_setups
from castlist.video.shot_tracking import DescribedTrack, TrackedShot
from castlist.video.shots import SIGNATURE_LENGTH

_MAX_NUMBER = 2**40  # of frames, seconds or anything else: more is damage
_COVER = 6 + PICTURES  # quality, time and box of a track's best picture, and the times of all
_TOTALS = ("tracks", "shots", "n_frames", "damaged", "end")
# Columns with one row per face: the kind of the dtype, and the shape of a row.
_COLUMNS: dict[str, tuple[str, tuple[int, ...]]] = {
    "track": ("i", ()), "shot": ("i", ()), "end": ("f", ()), "number": ("i", ()),
    "time": ("f", ()), "box": ("f", (4,)), "score": ("f", ()), "described": ("b", ()),
}  # fmt: skip


@dataclass
class Checkpoint:
    """The tracked shots, one file per few seconds of work, and the pictures of faces.

    Attributes
    ----------
    folder : Path
        Folder of the files; pictures are in its sub-folder ``faces``.
    resume_point : ResumePoint or None
        Start of the next shot; None after the last one.
    tracks, shots, n_frames, damaged : int
        Number of tracks, shots, sampled frames and damaged packets so far.
    end : float
        End of the last shot, in seconds.
    """

    folder: Path
    resume_point: ResumePoint | None = field(default_factory=ResumePoint)
    tracks: int = 0
    shots: int = 0
    n_frames: int = 0
    damaged: int = 0
    end: float = 0.0
    _count: int = 0  # files written; their content is read only by join

    @property
    def faces(self) -> Path:
        """Folder of the pictures until :meth:`publish`."""
        return self.folder / "faces"

    @classmethod
    def resume(cls, folder: Path) -> Checkpoint:
        """Return the checkpoint in a folder, up to the first file that cannot be read."""
        found = cls(folder)
        while True:
            try:
                place, totals = _about(found._read(found._count))
            except (ValueError, KeyError, TypeError):
                if (
                    found.resume_point is not None and not found.faces.is_dir()
                ):  # published, or lost
                    found = cls(folder)
                for later in folder.glob("*.npz"):
                    if later.stem >= found._path(found._count).stem:
                        later.unlink()
                return found
            found.resume_point = place
            for name, value in totals.items():
                setattr(found, name, value)
            found._count += 1

    def add(self, shots: Sequence[TrackedShot], damaged: int = 0) -> None:
        """Write shots, and the number of damaged packets in them."""
        tracks = [track for shot in shots for track in shot.tracks]
        names = range(self.tracks, self.tracks + len(tracks))
        self.faces.mkdir(parents=True, exist_ok=True)
        for name, track in zip(names, tracks, strict=True):
            write_pictures(self.faces, track_id(name), track.pictures)
        self.tracks += len(tracks)
        self.shots += len(shots)
        self.n_frames += sum(shot.n_frames for shot in shots)
        self.damaged += damaged
        self.resume_point, self.end = shots[-1].next, shots[-1].end
        about = {name: getattr(self, name) for name in _TOTALS}
        about["resume_point"] = None if self.resume_point is None else asdict(self.resume_point)
        arrays: dict[str, Any] = {
            "about": np.array(json.dumps(about)),
            **_as_arrays(names, tracks),
        }
        with replacing(self._path(self._count)) as partial, partial.open("wb") as file:
            np.savez(file, **arrays)
        self._count += 1

    def join(self, video: str, describer: str) -> TrackSet:
        """Return the tracks of all shots."""
        try:
            parts = [part for part in map(self._read, range(self._count)) if len(part["track"])]
        except (ValueError, KeyError, TypeError) as error:
            raise CastlistError(
                f"{self.folder}: the checkpoint is missing or damaged ({error}); scan again"
            ) from error
        columns: dict[str, Any] = {"track": np.empty(0, np.str_)}
        if len({part["features"].shape[1] for part in parts}) > 1:
            raise CastlistError(
                f"{self.folder}: the checkpoint is damaged; remove it and scan again"
            )
        if parts:
            columns = {k: np.concatenate([part[k] for part in parts]) for k in _COLUMNS}
            base = np.concatenate([part["features"] for part in parts])
            columns["feature"] = Features.of_described(base, columns.pop("described"))
            columns["track"] = [track_id(n) for n in columns["track"].tolist()]
            columns["frame"] = columns.pop("number")
            columns["setup"] = _setups(parts)
        return TrackSet.from_faces(**columns, video=video, describer=describer)

    def _read(self, number: int) -> dict[str, NDArray[Any]]:
        return _checked(load_arrays(self._path(number)))

    def publish(self, faces: Path) -> None:
        """Move the pictures to their final folder, replacing those of an earlier scan."""
        if not self.faces.is_dir():  # an earlier run did so and was killed afterwards
            return
        for left in self.faces.glob(".*.part"):
            left.unlink()
        covers = [_covers(self._read(number)) for number in range(self._count)]
        write_covers(self.faces, {track: one for some in covers for track, one in some.items()})
        before = self.folder / "before"
        shutil.rmtree(before, ignore_errors=True)
        if faces.exists():  # in one step, so that a page never shows a mixture
            faces.rename(before)
        self.faces.rename(faces)

    def clear(self) -> None:
        """Remove the checkpoint, when its content is in one file."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npz"


def _checked(part: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return a part if its arrays are consistent; raise a ValueError or KeyError if not."""
    n, features = len(np.atleast_1d(part["track"])), part["features"]
    for name, (kind, shape) in _COLUMNS.items():
        if part[name].dtype.kind != kind or part[name].shape != (n, *shape):
            raise ValueError(f"{name} has the wrong shape or type")
    if features.ndim != 2 or features.dtype.kind != "f" or not np.isfinite(features).all():
        raise ValueError("features have the wrong shape, type or values")
    if len(features) != part["described"].sum() or (part["track"] < 0).any():
        raise ValueError("features have the wrong shape, type or values")
    ends = part["ends"]
    if ends.shape != (len(np.unique(part["track"])), 2, SIGNATURE_LENGTH):
        raise ValueError("signatures have the wrong shape, type or values")
    if ends.dtype.kind != "f" or not np.isfinite(ends).all():
        raise ValueError("signatures have the wrong shape, type or values")
    covers = part["covers"]
    if covers.shape != (len(np.unique(part["track"])), _COVER) or covers.dtype.kind != "f":
        raise ValueError("covers have the wrong shape or type")
    return part


def _setups(parts: Sequence[dict[str, NDArray[Any]]]) -> NDArray[np.int32]:
    """Return the camera set-up of the first and last face of each track; -1 for other faces."""
    ends = (one for part in parts for track in part["ends"] for one in track)
    setups = number_setups(ends).reshape(-1, 2)
    track = np.concatenate([part["track"] for part in parts])
    found = np.full(len(track), -1, np.int32)
    first = np.flatnonzero(np.diff(track, prepend=-1))
    last = np.flatnonzero(np.diff(track, append=-1))
    found[first], found[last] = setups.T
    return found


def _covers(part: dict[str, NDArray[Any]]) -> dict[str, Cover]:
    """Return the cover of each track of a part that has one."""
    rows = zip(np.unique(part["track"]).tolist(), part["covers"].tolist(), strict=True)
    return {
        track_id(n): Cover(row[0], row[1], tuple(row[2:6]), tuple(t for t in row[6:] if t >= 0))
        for n, row in rows
        if row[0] >= 0
    }


def _about(part: dict[str, NDArray[Any]]) -> tuple[ResumePoint | None, dict[str, Any]]:
    """Return the resume point and the totals of a part."""
    about = parse_json(str(part["about"]))
    totals = {name: about[name] for name in _TOTALS}
    place = None if about["resume_point"] is None else ResumePoint(**about["resume_point"])
    numbers = [*totals.values(), *([] if place is None else astuple(place))]
    if not all(isinstance(n, int | float) and 0 <= n < _MAX_NUMBER for n in numbers):
        raise ValueError("impossible counts")
    return place, totals


def track_id(number: int) -> str:
    """Return the id of a track by its number, counted from 0."""
    return f"{number + 1:05d}"


def _as_arrays(names: Iterable[int], tracks: Sequence[DescribedTrack]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a part, as `_checked` expects them."""
    counts = [len(track.time) for track in tracks]
    described = []
    for track in tracks:
        mask = np.zeros(len(track.time), bool)
        mask[track.described] = True
        described.append(mask)

    def joined(values: list[Any], empty: Any) -> NDArray[Any]:
        return np.concatenate([empty, *values])

    dim = tracks[0].features.shape[1] if tracks else 0
    return {
        "track": np.repeat(np.fromiter(names, np.int64, len(tracks)), counts),
        "shot": np.repeat(np.array([track.shot for track in tracks], np.int32), counts),
        "end": np.repeat(np.array([track.end for track in tracks], np.float64), counts),
        "number": joined([track.number for track in tracks], np.empty(0, np.int64)),
        "time": joined([track.time for track in tracks], np.empty(0)),
        "box": joined([track.box for track in tracks], np.empty((0, 4), np.float32)),
        "score": joined([track.score for track in tracks], np.empty(0, np.float32)),
        "described": joined(described, np.empty(0, bool)),
        "features": joined([t.features for t in tracks], np.empty((0, dim), np.float32)),
        "ends": joined([t.ends[None] for t in tracks], np.empty((0, 2, SIGNATURE_LENGTH), "f2")),
        "covers": joined([_cover_row(t) for t in tracks], np.empty((0, _COVER))),
    }


def _cover_row(track: DescribedTrack) -> NDArray[np.float64]:
    """Return quality, time and box of a track's best picture, and the times of all pictures.

    Missing values are negative.
    """
    row = np.full((1, _COVER), -1.0)
    if track.pictures:
        best = track.pictures[0].cover
        times = [one.cover.time for one in track.pictures[:PICTURES]]
        row[0, : 6 + len(times)] = [best.quality, best.time, *best.box, *times]
    return row
