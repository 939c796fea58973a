"""What is in a cast's folder, and where the video is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from castlist.io.files import replacing
from castlist.tracks import TrackSet
from castlist.video.pictures import Cover, frame_of, picture_counts, pictures_of, read_covers

TRACKS, CAST, REPORT, RUN = "tracks.parquet", "cast.json", "report.html", "run.json"
POINTS, CORRECTIONS, FACES = "embeddings.npy", "corrections.db", "faces"
#: Of a cast of several videos: a folder a video, and what tells its name from a track's.
EPISODES, OF = "episodes", ":"

T = TypeVar("T")


@dataclass(frozen=True)
class Scanned:
    """What a scan left in a cast's folder.

    Attributes
    ----------
    folder : Path
        The folder.
    tracks : TrackSet
        The face tracks.
    labels : ndarray of int, shape (n_tracks,)
        The number of each track's character, as clustered.
    points : ndarray of float32, shape (n_tracks, dim)
        What was clustered.
    threshold : float
        τ.
    duration : float
        Seconds of video, all together.
    run : dict
        What ``run.json`` says.
    """

    folder: Path
    tracks: TrackSet
    labels: NDArray[np.int64]
    points: NDArray[np.float32]
    threshold: float
    duration: float
    run: dict[str, Any]

    @property
    def films(self) -> list[dict[str, Any]]:
        """What is known of each video."""
        return list(self.run["videos"] if "videos" in self.run else [self.run.get("video", {})])

    @property
    def joined(self) -> bool:
        """Whether it is a cast of several videos."""
        return "videos" in self.run

    @cached_property
    def starts(self) -> NDArray[np.float64]:
        """When each video begins, if they are seen one after another."""
        lengths = [float(film.get("duration", 0.0)) for film in self.films]
        return np.concatenate([[0.0], np.cumsum(lengths)])[:-1]

    def pictures(self, track: str) -> list[Path]:
        """Find the pictures of a track's faces, best first."""
        return pictures_of(*self._faces_of(track))

    def frame(self, track: str) -> Path:
        """Return where the frame of a track's best picture is, if there is one."""
        return frame_of(*self._faces_of(track))

    def picture_counts(self) -> dict[str, int]:
        """Count the pictures of every track that has some."""
        return self._of_all(picture_counts)

    def covers(self) -> dict[str, Cover]:
        """Return what is known of the best picture of every track."""
        return self._of_all(read_covers)

    def _faces_of(self, track: str) -> tuple[Path, str]:
        """Return the folder of a track's pictures, and what the track is called there."""
        episode, _, own = track.rpartition(OF) if self.joined else ("", "", track)
        home = self.folder / EPISODES / episode if episode else self.folder
        return home / FACES, own

    def _of_all(self, read: Callable[[Path], dict[str, T]]) -> dict[str, T]:
        """Read something of the pictures of every video, by track."""
        if not self.joined:
            return read(self.folder / FACES)
        return {
            f"{film['episode']}{OF}{track}": value
            for film in self.films
            for track, value in read(self.folder / EPISODES / film["episode"] / FACES).items()
        }

    @cached_property
    def scan_print(self) -> str:
        """Tell these tracks from those of another scan."""
        if self.joined:  # one more video does not change what the others' tracks are
            return str(self.run["print"])
        return print_of(self.tracks)

    @cached_property
    def basis(self) -> str:
        """Tell this clustering of these tracks from another."""
        return digest(self.scan_print.encode(), self.labels.tobytes())


def write_points(folder: Path, points: NDArray[np.float32]) -> None:
    """Write what was clustered."""
    with replacing(folder / POINTS) as partial, partial.open("wb") as file:
        np.save(file, points, allow_pickle=False)


def find_video(scanned: Scanned, film: int = 0) -> Path | None:
    """Find a video of a cast: where it was, or beside the folder."""
    video = scanned.films[film]
    places = [
        scanned.folder / str(video.get("path", "")),
        scanned.folder.parent / str(video.get("name", "")),
    ]
    # os.path: a name too long, or behind a closed door, is a file that is not there.
    return next((path.resolve() for path in places if os.path.isfile(path)), None)


def print_of(tracks: TrackSet) -> str:
    """Tell these tracks from those of another scan."""
    parts = (tracks.ids, tracks.video, tracks.offsets, tracks.time, tracks.box)
    return digest(*(np.ascontiguousarray(part).tobytes() for part in parts))


def digest(*parts: bytes) -> str:
    """Return a short print of some bytes."""
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()[:16]
