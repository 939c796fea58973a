"""Reading and writing film files: their formats, encoders, and the videos of a cast."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from castlist.cast.current import CurrentCast
from castlist.cast.video_files import find_video
from castlist.errors import InputError

#: Formats of FFmpeg, by suffix.
FORMATS = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mov", ".mkv": "matroska"}
#: Quality of encoded pictures (CRF of x264): visually close to the source.
_QUALITY = "18"


def format_of(out: Path) -> str:
    """Return FFmpeg's format of a file, by its suffix."""
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"{out}: write a film as {', '.join(FORMATS)}")
    return FORMATS[out.suffix.lower()]


def add_pictures(target: Any, size: tuple[int, int], rate: Fraction) -> Any:
    """Add a stream of encoded pictures to a film: H.264, or MPEG-4 if there is no x264."""
    codec = "libx264" if "libx264" in av.codecs_available else "mpeg4"
    options = {"crf": _QUALITY} if codec == "libx264" else {"qscale": "2"}
    stream = target.add_stream(codec, rate=rate, options=options)
    stream.width, stream.height = (side // 2 * 2 for side in size)  # as 4:2:0 needs
    stream.pix_fmt = "yuv420p"
    return stream


def video_path(cast: CurrentCast, name: str, number: int) -> Path:
    """Return the path of a video of a cast, by its number; its name is for the error message.

    A file that is not the video that was scanned is an InputError.
    """
    path = find_video(cast.scanned, number if cast.scanned.joined else 0)
    if path is None:
        raise InputError(
            f"{name}: the video is neither where it was scanned nor beside {cast.folder}; "
            "put it there"
        )
    return path
