"""Read the files of the paper's authors: ``.ids``, feature folders and ``facetracks.mat``.

``root/ids/<video>.ids`` has the person of each track. ``root/features/<video>/<track>.npy`` (faces
× dims) and ``root/tracks/<video>.facetracks.mat`` (frames and boxes) are optional, but one of the
two is needed.
"""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError, first_line
from castlist.features import Features
from castlist.io.track_source import TrackSource
from castlist.io.untrusted import load_array, read_small
from castlist.tracks import BACKGROUND_PREFIX, TrackSet

_EPISODE = re.compile(r"(?P<series>.+)_s\d+e\d+$")
_MAX_NAME = 200  # characters of a track or person: files have these names
_IDS_HEADER = "CVHCI_TRACKLABELS"
_MAT_ARRAY = "FaceTracks"
_MAT_FIELDS = ("trackerId", "frames", "timestamps", "x", "y", "w", "h")
_MAT_MAX_SIZE = 2**23  # bytes; the largest of the authors' files has 1.4 MB
_MAT_MAX_TRACKS = 100_000


def series_of(video: str) -> str | None:
    """Return the series of an episode named ``<series>_s01e02``; None for other names."""
    found = _EPISODE.match(video)
    return found["series"] if found else None


def is_authors_folder(path: Path) -> bool:
    """Return whether a folder has the authors' layout."""
    return (path / "ids").is_dir()


def open_authors(root: str | Path, *, boxes: bool = True) -> list[TrackSource]:
    """Open all videos of a folder in the authors' layout.

    Only labelled tracks are read. The series is appended to the name of a background character
    (``unknown_e05_3@bbt``), because the authors' numbers start again in each series.

    Parameters
    ----------
    root : path
        The folder that contains ``ids``.
    boxes : bool
        Read frames and boxes from ``facetracks.mat`` if it exists.
    """
    root = Path(root)
    files = sorted((root / "ids").glob("*.ids"))
    if not files:
        raise InputError(f"{root / 'ids'}: no .ids file")
    return [_open_video(root, file, boxes) for file in files]


def read_ids(path: str | Path) -> dict[str, str]:
    """Read an ``.ids`` file (a header, then one ``track name`` per line): track → name."""
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
        if max(map(len, words)) > _MAX_NAME or set(words[0]) & set("/\\\0"):
            raise InputError(f"{path}:{number}: {words[0][:40]!r} is not a valid name of a track")
        if words[0] in names:
            raise InputError(f"{path}:{number}: track {words[0]!r} is labelled twice")
        names[words[0]] = words[1]
    return names


def read_facetracks(path: str | Path) -> dict[str, dict[str, NDArray[Any]]]:
    """Read ``facetracks.mat``: track id → frame, time and box of each face."""
    path = Path(path)
    records = _load_records(path)
    tracks: dict[str, dict[str, NDArray[Any]]] = {}
    for record in records:
        columns = {field: _numbers(path, field, record[field]) for field in _MAT_FIELDS}
        track = _track_number(path, columns.pop("trackerId"))
        if track in tracks:
            raise InputError(f"{path}: track {track!r} occurs twice")
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


def _load_records(path: Path) -> NDArray[Any]:
    """Load the array of structs, one per track."""
    from scipy.io import loadmat, whosmat  # slow to import, and only this layout needs it

    try:
        data = io.BytesIO(read_small(path, _MAT_MAX_SIZE))
        # Look before loading: SciPy crashes on some damaged files whose array is of another class.
        found = {name: (shape, kind) for name, shape, kind in whosmat(data)}
        shape, kind = found.get(_MAT_ARRAY, ((), ""))
        if kind != "struct" or not 0 <= math.prod(shape) <= _MAT_MAX_TRACKS:
            raise InputError(f"no {_MAT_ARRAY!r} of at most {_MAT_MAX_TRACKS:,} structs")
        data.seek(0)
        records: NDArray[Any] = loadmat(data, variable_names=[_MAT_ARRAY])[_MAT_ARRAY].ravel()
    except Exception as error:  # SciPy's own errors are of many kinds
        raise InputError(f"{path}: not a whole facetracks.mat ({first_line(error)})") from error
    if missing := [field for field in _MAT_FIELDS if field not in (records.dtype.names or ())]:
        raise InputError(f"{path}: {_MAT_ARRAY} has no field {missing[0]!r}")
    return records


def _numbers(path: Path, field: str, values: Any) -> NDArray[Any]:
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise InputError(f"{path}: field {field!r} does not hold real numbers")
    return values.ravel()


def _track_number(path: Path, values: NDArray[Any]) -> str:
    if values.size != 1 or not np.isfinite(values).all():
        raise InputError(f"{path}: a track has a trackerId that is not a number")
    return str(int(values[0]))


def _open_video(root: Path, ids_file: Path, boxes: bool) -> TrackSource:
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
        raise InputError(f"{root}: neither features/{video} nor {video}.facetracks.mat exists")
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

    return TrackSource(
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
    """Return the shape of every labelled track's features, without reading their values."""
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
