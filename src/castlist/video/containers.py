"""Opening a video file, and never any other file or address that it names."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import av
from av.error import FFmpegError

from castlist.errors import InputError
from castlist.parallel import n_threads

MAX_PIXELS = 2**26  # per frame: twice 8K. A decoder keeps up to two dozen frames

# The formats that FFmpeg may open. Playlists (hls, concat, dash, sdp …) are not among them: they
# name other files or addresses, and a live one has no end.
_FORMATS = (
    # films
    "mov mp4 matroska webm avi asf asf_o flv live_flv kux ogg rm swf nut nuv nsv pmp vivo film_cpk "
    # recordings and production
    "mpegts mpeg pva wtv ty dv mxf gxf lxf r3d cine mlv ser dhav hxvs ifv lmlm4 "
    # raw video streams
    "mpegvideo m4v h261 h263 h264 hevc vvc evc vc1 vc1test cavsvideo avs2 avs3 av1 obu ivf dirac "
    "dnxhd mjpeg mjpeg_2000 mpjpeg smjpeg yuv4mpegpipe gif apng jpegxl_anim "
    # single images
    "image2 bmp_pipe jpeg_pipe jpegxl_pipe png_pipe ppm_pipe pgm_pipe tiff_pipe webp_pipe "
    # audio, for a better error message
    "wav w64 mp3 flac aac ac3 eac3 aiff au caf amr ape wv"
)
_LIMITS = {"max_pixels": str(MAX_PIXELS)}  # checked by FFmpeg before it allocates memory
_STILL = av.stream.Disposition.attached_pic | av.stream.Disposition.timed_thumbnails
_ONE_FILE = {
    "format_whitelist": _FORMATS.replace(" ", ","),
    "protocol_whitelist": "file",
    "pattern_type": "none",  # for image2: take `%03d.jpg` literally
}

# Titles that are not UTF-8 are no error. PyAV 19 has no such option, and reads them always.
_TEXTS: Any = {} if int(av.__version__.partition(".")[0]) >= 19 else {"metadata_errors": "ignore"}


def open_container(path: Path) -> tuple[Any, Any]:
    """Return the open container of a file and its best video stream."""
    # FFmpeg takes what is before a colon for a protocol. After "file:" any name is allowed.
    name = f"file:{os.path.abspath(path)}"
    try:
        container = av.open(name, options=_LIMITS | _ONE_FILE, **_TEXTS)
    except (FFmpegError, OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.EINVAL:  # the format is not in the list
            _refuse_animated(path)  # FFmpeg of PyAV 19 has a format of its own for it
            raise InputError(
                f"{path}: unsupported format; if it is a playlist, give the video itself"
            ) from error
        raise InputError(
            f"{path}: cannot be read as a video ({reason(error)}); is the file complete?"
        ) from error
    streams = [s for s in container.streams.video if not s.disposition & _STILL]
    if not streams:
        what = "only audio" if container.streams.audio else "no video"
        container.close()
        raise InputError(f"{path}: the file contains {what}")
    stream: Any = max(streams, key=_quality)
    if container.format.name == "webp_pipe":
        try:
            _refuse_animated(path)
        except InputError:
            container.close()
            raise
    if stream.codec_context is None:
        container.close()
        raise InputError(f"{path}: no decoder for its video stream")
    stream.thread_type = "AUTO"
    stream.codec_context.thread_count = n_threads()
    stream.codec_context.options = dict(_LIMITS)
    return container, stream


def _quality(stream: Any) -> tuple[bool, bool, int, bool]:
    """Return a sort key of video streams: decodable, moving, large, and the file's default.

    Of equal streams, ``max`` returns the first.
    """
    context = stream.codec_context
    pixels = context.width * context.height if context is not None else 0
    chosen = bool(stream.disposition & av.stream.Disposition.default)
    return context is not None, stream.frames != 1, pixels, chosen


def _refuse_animated(path: Path) -> None:
    """Raise an error if a file is an animated WebP, by the flags of its header."""
    with path.open("rb") as file:
        head = file.read(21)
    if head[8:16] == b"WEBPVP8X" and head[20:] and head[20] & 2:
        raise InputError(f"{path}: animated WebP is not supported; convert it to MP4, GIF or APNG")


def reason(error: Exception) -> str:
    """Return the message of an error of FFmpeg or the system."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text)
