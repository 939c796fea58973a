"""The paper authors' files: feature folders, ``.ids`` and ``facetracks.mat``.

``root/ids/<video>.ids`` says who is in each track; ``root/features/<video>/<track>.npy`` (faces ×
dims) and ``root/tracks/<video>.facetracks.mat`` (frames and boxes) are used where they are there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.features import Features
from castlist.io.mat import read_structs
from castlist.io.untrusted import load_array, read_small
from castlist.io.videos import Source
from castlist.tracks import BACKGROUND_PREFIX, TrackSet

_EPISODE = re.compile(r"(?P<series>.+)_s\d+e\d+$")
_LONGEST_NAME = 200  # of a track or a person: there is a file of that name
_IDS_HEADER = "CVHCI_TRACKLABELS"
_MAT_FIELDS = ("trackerId", "frames", "timestamps", "x", "y", "w", "h")


def series_of(video: str) -> str | None:
    """Return the series of an episode named ``<series>_s01e02``; None for other names."""
    found = _EPISODE.match(video)
    return found["series"] if found else None


def is_authors_folder(path: Path) -> bool:
    """Tell whether a folder has the authors' layout."""
    return (path / "ids").is_dir()


def open_authors(root: str | Path, *, boxes: bool = True) -> list[Source]:
    """Open all videos of a folder in the authors' layout.

    Only tracks with a label are read. A background character's name gets its series
    (``unknown_e05_3@bbt``), because the authors number them anew in each series.

    Parameters
    ----------
    root : path
        The folder that has ``ids``.
    boxes : bool
        Take frames and boxes from ``facetracks.mat`` where it is there.
    """
    root = Path(root)
    files = sorted((root / "ids").glob("*.ids"))
    if not files:
        raise InputError(f"{root / 'ids'}: no .ids file")
    return [_open_video(root, file, boxes) for file in files]


def read_ids(path: str | Path) -> dict[str, str]:
    """Read an ``.ids`` file: a header line, then ``track name`` a line."""
    path = Path(path)
    try:
        lines = read_small(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    if not lines or not lines[0].startswith(_IDS_HEADER):
        raise InputError(f"{path}: the first line must be {_IDS_HEADER}_V1")
    names: dict[str, str] = {}
    for number, line in enumerate(lines[1:], start=2):
        words = line.split()
        if not words:
            continue
        if len(words) != 2:
            raise InputError(f"{path}:{number}: expected 'track name', found {line!r}")
        if max(map(len, words)) > _LONGEST_NAME or set(words[0]) & set("/\\\0"):
            raise InputError(f"{path}:{number}: {words[0][:40]!r} is no name of a track's file")
        if words[0] in names:
            raise InputError(f"{path}:{number}: track {words[0]!r} is labelled twice")
        names[words[0]] = words[1]
    return names


def read_facetracks(path: str | Path) -> dict[str, dict[str, NDArray[Any]]]:
    """Read ``facetracks.mat``: track id → frame, time and box of each face."""
    path = Path(path)
    tracks: dict[str, dict[str, NDArray[Any]]] = {}
    for columns in read_structs(path, "FaceTracks", _MAT_FIELDS):
        track = _track_number(path, columns.pop("trackerId"))
        if track in tracks:
            raise InputError(f"{path}: track {track!r} is there twice")
        if len({len(values) for values in columns.values()}) > 1 or not len(columns["frames"]):
            raise InputError(f"{path}: track {track!r} has no face, or columns of unequal length")
        if not all(np.isfinite(values).all() for values in columns.values()):
            raise InputError(f"{path}: track {track!r} has a value that is not finite")
        with np.errstate(over="ignore", invalid="ignore"):
            tracks[track] = {
                "frame": columns["frames"].astype(np.int64),
                "time": columns["timestamps"].astype(np.float64),
                "box": np.stack([columns[side] for side in "xywh"], axis=1).astype(np.float32),
            }
    return tracks


def _track_number(path: Path, values: NDArray[Any]) -> str:
    if values.size != 1 or not np.isfinite(values).all():
        raise InputError(f"{path}: a track whose trackerId is no number")
    return str(int(values[0]))


def _open_video(root: Path, ids_file: Path, boxes: bool) -> Source:
    video = ids_file.stem
    names = read_ids(ids_file)
    folder = root / "features" / video
    mats = [parent / f"{video}.facetracks.mat" for parent in (root / "tracks", root)]
    mat = next((path for path in mats if boxes and path.is_file()), None)
    faces = read_facetracks(mat) if mat else None
    shapes = _feature_shapes(folder, names) if folder.is_dir() else None
    if faces is not None:
        if unknown := [track for track in names if track not in faces]:
            raise InputError(f"{ids_file}: track {unknown[0]!r} is not in {mat}")
        counts = {track: len(faces[track]["frame"]) for track in names}
    elif shapes is not None:
        counts = {track: shape[0] for track, shape in shapes.items()}
    else:
        raise InputError(f"{root}: neither features/{video} nor {video}.facetracks.mat is there")
    for track, shape in (shapes or {}).items():
        if shape[0] != counts[track]:
            raise InputError(
                f"{folder / track}.npy has {shape[0]} faces, {mat} has {counts[track]}; "
                "read without boxes to use the features alone"
            )

    def build(features: Features | None) -> TrackSet:
        columns: dict[str, Any] = {}
        if faces is not None and names:
            columns = {
                name: np.concatenate([faces[track][name] for track in names])
                for name in ("frame", "time", "box")
            }
        repeats = list(counts.values())
        return TrackSet.from_faces(
            np.repeat(np.array(list(names), object), repeats),
            feature=features,
            identity=np.repeat(_scoped(names, video), repeats),
            video=video,
            **columns,
        )

    return Source(
        path=folder if shapes else mats[0],
        n_faces=sum(counts.values()),
        dim=next(iter(shapes.values()))[1] if shapes else 0,
        dtype=np.dtype(np.float32),
        blocks=lambda: (_load_features(folder / f"{track}.npy", track) for track in names),
        build=build,
    )


def _scoped(names: dict[str, str], video: str) -> NDArray[np.object_]:
    series = series_of(video)
    return np.array(
        [
            f"{name}@{series}" if series and name.startswith(BACKGROUND_PREFIX) else name
            for name in names.values()
        ],
        object,
    )


def _feature_shapes(folder: Path, names: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Look at every labelled track's file without reading its values."""
    shapes: dict[str, tuple[int, int]] = {}
    for track in names:
        path = folder / f"{track}.npy"
        if not path.is_file():
            raise InputError(f"{path}: missing, though track {track!r} has a label")
        matrix = load_array(path, mmap_mode="r")
        if matrix.ndim != 2 or not len(matrix) or matrix.dtype.kind != "f":
            raise InputError(
                f"{path}: track {track!r} must be faces × dims of floats with at least one face, "
                f"not {matrix.dtype} of shape {matrix.shape}"
            )
        shapes[track] = (len(matrix), matrix.shape[1])
        first, (_, dim) = next(iter(shapes.items()))
        if matrix.shape[1] != dim:
            raise InputError(
                f"{path}: track {track!r} has {matrix.shape[1]} dims, track {first!r} has {dim}"
            )
    return shapes


def _load_features(path: Path, track: str) -> NDArray[np.floating]:
    with np.errstate(over="ignore"):
        matrix = load_array(path).astype(np.float32)
    if not np.isfinite(matrix).all():
        raise InputError(f"{path}: track {track!r} has a feature that is not finite")
    return matrix
