"""CVAT for video 1.1: tracks of boxes in XML, read element by element."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from castlist.errors import InputError
from castlist.io.box_tracks import BoxColumns, GivenTracks


def read_cvat(path: str | Path) -> GivenTracks:
    """Read the tracks of a CVAT file.

    A track that is ``outside`` for a while is two tracks. Labels are not used, nor are shapes
    other than boxes. Document type definitions, which could name other files or grow without end,
    are refused.
    """
    path = Path(path)
    reader = _Reader(path)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    except InputError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # of an encoding, if not the first
        raise InputError(f"{path}: not whole XML ({error})") from error
    if not reader.columns.track:
        raise InputError(
            f"{path}: no tracks of boxes in it; export the task from CVAT as 'CVAT for video 1.1'"
        )
    return GivenTracks(reader.columns.tracks(), math.inf)


class _Reader:
    """What has been read so far."""

    def __init__(self, path: Path) -> None:
        self.columns = BoxColumns(path)
        self._track: str | None = None
        self._boxes: list[tuple[int, bool, tuple[float, ...]]] = []
        self._seen: set[str] = set()
        self._tasks: set[str] = set()

    def refuse(self, *_: object) -> NoReturn:
        raise InputError(
            f"{self.columns.path}: has a document type definition, which castlist does not read; "
            "CVAT's own files have none"
        )

    def start(self, name: str, words: dict[str, str]) -> None:
        if name == "track":
            self._track = words.get("id", "")
            if self._track in self._seen:
                raise InputError(f"{self.columns.path}: track {self._track} is there twice")
            self._seen.add(self._track)
            self._tasks.add(words.get("task_id", ""))
            if len(self._tasks) > 1:
                raise InputError(
                    f"{self.columns.path}: tracks of several tasks; export that of one video"
                )
        elif name == "box" and self._track is not None:
            self._boxes.append(self._read(words))

    def end(self, name: str) -> None:
        if name != "track" or self._track is None:
            return
        key, stretch = self._track, 1
        where = f"track {self._track}"
        last: tuple[int, tuple[float, ...]] | None = None  # frame and box, while it is inside
        for frame, outside, box in sorted(self._boxes):
            if not outside:
                self.columns.add(where, key, frame, box)
                last = frame, box
            elif last is not None:
                if frame - 1 > last[0]:  # a box holds until it is said to be gone
                    self.columns.add(where, key, frame - 1, last[1])
                stretch, last = stretch + 1, None
                key = f"{self._track}.{stretch}"
        self._track, self._boxes = None, []

    def _read(self, words: dict[str, str]) -> tuple[int, bool, tuple[float, ...]]:
        try:
            left, top, right, bottom = (float(words[k]) for k in ("xtl", "ytl", "xbr", "ybr"))
            frame = int(words["frame"])
        except (KeyError, ValueError) as error:
            raise InputError(
                f"{self.columns.path}, track {self._track}: a box without frame or corners "
                f"({error})"
            ) from error
        box = (left, top, right - left, bottom - top)
        return frame, words.get("outside") == "1", box
