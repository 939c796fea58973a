"""Read a cast's folder, of one video or of several."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from castlist.cast.cast import load_cast
from castlist.cast.folder import CAST, EPISODES, POINTS, RUN, TRACKS, Scanned, digest
from castlist.cast.joined import read_joined
from castlist.cast.noted import amount, are_points, check_run
from castlist.errors import InputError
from castlist.io.read import read_tracks
from castlist.io.untrusted import load_array, read_json


def read_scanned(folder: str | Path) -> Scanned:
    """Read a cast's folder, of one video or of several."""
    folder = Path(folder)
    if not (folder / CAST).is_file():
        raise InputError(f"{folder}: not a cast; `castlist scan video.mp4` makes video.cast")
    if (folder / EPISODES).is_dir():
        return read_joined(folder)
    tracks = read_tracks(folder / TRACKS)
    cast = load_cast(folder / CAST, tracks)
    labels = np.full(len(tracks), -1)
    for one in cast.characters:
        labels[one.tracks] = one.number
    try:
        points = load_array(folder / POINTS)
        run = check_run(read_json(folder / RUN))
        about = read_json(folder / CAST)
        threshold = amount(about["threshold"])
        own = about.get("points", now := digest(points.tobytes())) == now
        points = points.astype(np.float32)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: damaged or unfinished; scan again ({error})") from error
    fits = points.ndim == 2 and len(points) == len(tracks) and bool((labels > 0).all())
    if not own or not fits or not are_points(points):
        raise InputError(f"{folder}: its files do not belong together; scan again")
    return Scanned(folder, tracks, labels, points, threshold, cast.duration, run)
