"""Length and poster of each video, decoded once and cached as long as the video is there."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import cv2

from castlist.errors import CastlistError, first_line
from castlist.io.files import replacing
from castlist.io.untrusted import read_json
from castlist.video.frames import Image, Video, open_video
from castlist.video.weights import cache_folder

_WIDTH, _HEIGHT = 480, 270  # pixels; a poster fits into them
_SHARES = (0.1, 0.3, 0.5)  # of the video: where a poster is looked for
_LEAST_CONTRAST = 12.0  # standard deviation of grey; below it is a black or empty frame
_MAX_KEPT = 2000  # videos in the cache


@dataclass(frozen=True)
class VideoFacts:
    """What is known of a video file.

    Attributes
    ----------
    seconds : float
        Length; 0 if the file does not state it.
    width, height : int
        Size as shown.
    problem : str
        Why it cannot be read; empty if it can.
    """

    seconds: float = 0.0
    width: int = 0
    height: int = 0
    problem: str = ""


class Posters:
    """A cache of posters and facts, by path, size and time of the video file.

    Parameters
    ----------
    folder : Path, optional
        The cache; by default in castlist's cache folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_folder() / "posters" if folder is None else folder

    def facts(self, video: Path) -> VideoFacts | None:
        """Return the facts of a video from the cache; None if it must be read first."""
        try:
            return VideoFacts(**read_json(self._path(video, ".json"))["facts"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def poster(self, video: Path) -> Path:
        """Return the path of the poster of a video, which may not exist."""
        return self._path(video, ".jpg")

    def make(self, video: Path) -> VideoFacts:
        """Read a video, and store its facts and its poster."""
        try:
            with open_video(video) as opened:
                facts = VideoFacts(opened.duration, *opened.size)
                picture = _poster(opened)
        except Exception as error:  # one video must not keep the others from their posters
            return VideoFacts(problem=first_line(error))  # not stored: it may be a passing error
        with suppress(CastlistError, OSError):  # a full or read-only disk: made again next time
            # The record first: a poster without one would stay when the video is gone.
            record = {"video": _quoted(video), "facts": asdict(facts)}
            with replacing(self._path(video, ".json"), wait=False) as partial:
                partial.write_text(json.dumps(record), "utf-8")
            if picture is not None:
                with replacing(self.poster(video), wait=False) as partial:
                    partial.write_bytes(picture)
            self._remove_oldest()
        return facts

    def prune(self) -> None:
        """Remove the posters of videos that are gone or have changed."""
        for path in self.folder.glob("*.json"):
            try:
                video = Path(os.fsdecode(unquote_to_bytes(read_json(path)["video"])))
                stays = self._path(video, ".json") == path
            except (OSError, ValueError, TypeError, KeyError, AttributeError):
                stays = False
            if not stays:
                _remove(path)

    def _path(self, video: Path, suffix: str) -> Path:
        stat = os.stat(video)
        about = f"{os.path.abspath(video)}\0{stat.st_size}\0{stat.st_mtime_ns}"
        name = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.folder / f"{name}{suffix}"

    def _remove_oldest(self) -> None:
        """Remove the oldest posters if there are too many."""
        kept = list(self.folder.glob("*.json"))
        if len(kept) <= _MAX_KEPT:
            return
        kept.sort(key=lambda path: path.stat().st_mtime)
        for path in kept[: len(kept) - _MAX_KEPT * 9 // 10]:
            _remove(path)


def _remove(record: Path) -> None:
    """Remove a record and its poster, which goes first, so that none is left without a record."""
    with suppress(OSError):
        record.with_suffix(".jpg").unlink(missing_ok=True)
        record.unlink(missing_ok=True)


def _quoted(video: Path) -> str:
    """Return the path of a video as text, also if its name cannot be decoded."""
    return quote(os.fsencode(os.path.abspath(video)))


def _poster(video: Video) -> bytes | None:
    """Return a JPEG of the first key frame that is not empty; None if no frame can be decoded."""
    image: Image | None = None
    for share in _SHARES:
        frame = video.key_frame(share * video.duration) or next(video.frames(), None)
        if frame is None:
            break
        image = frame.image()
        if float(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).std()) >= _LEAST_CONTRAST:
            break
    if image is None:
        return None
    height, width = image.shape[:2]
    scale = min(1.0, _WIDTH / width, _HEIGHT / height)
    size = (max(1, round(scale * width)), max(1, round(scale * height)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return bytes(cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 82])[1])
