"""Opening a video file: just that file, whatever its name and content say."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import av
from av.error import FFmpegError

from castlist.errors import InputError
from castlist.parallel import n_threads

MOST_PIXELS = 2**26  # of a picture: twice 8K. A decoder keeps a dozen of them or two

# All that FFmpeg may take a file for. Playlists (hls, concat, dash, sdp …) are none of it: they
# name other files, or addresses, and a live one has no end.
_FORMATS = (
    # films
    "mov mp4 matroska webm avi asf asf_o flv live_flv kux ogg rm swf nut nuv nsv pmp vivo film_cpk "
    # recordings and production
    "mpegts mpeg pva wtv ty dv mxf gxf lxf r3d cine mlv ser dhav hxvs ifv lmlm4 "
    # streams of pictures alone
    "mpegvideo m4v h261 h263 h264 hevc vvc evc vc1 vc1test cavsvideo avs2 avs3 av1 obu ivf dirac "
    "dnxhd mjpeg mjpeg_2000 mpjpeg smjpeg yuv4mpegpipe gif apng jpegxl_anim "
    # a video of one picture
    "image2 bmp_pipe jpeg_pipe jpegxl_pipe png_pipe ppm_pipe pgm_pipe tiff_pipe webp_pipe "
    # sound, to say that it is sound
    "wav w64 mp3 flac aac ac3 eac3 aiff au caf amr ape wv"
)
_LIMITS = {"max_pixels": str(MOST_PIXELS)}  # FFmpeg refuses more before it makes room
_STILL = av.stream.Disposition.attached_pic | av.stream.Disposition.timed_thumbnails
_ONE_FILE = {
    "format_whitelist": _FORMATS.replace(" ", ","),
    "protocol_whitelist": "file",
    "pattern_type": "none",  # of image2: `%03d.jpg` is a name like any other
}


def open_container(path: Path) -> tuple[Any, Any]:
    """Open a file and choose its video stream."""
    # FFmpeg takes what is before a colon for a protocol, and this is one under which no name is odd
    name = f"file:{os.path.abspath(path)}"
    try:
        container = av.open(name, metadata_errors="ignore", options=_LIMITS | _ONE_FILE)
    except (FFmpegError, OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.EINVAL:  # what a format not in the list gives
            raise InputError(
                f"{path}: castlist does not read this format; a playlist, which only names "
                "videos, is none: give the video itself"
            ) from error
        raise InputError(
            f"{path}: cannot be read as a video ({reason(error)}); is it whole, and a video?"
        ) from error
    streams = [s for s in container.streams.video if not s.disposition & _STILL]
    if not streams:
        what = "sound only" if container.streams.audio else "no picture"
        container.close()
        raise InputError(f"{path}: there is {what} in it, and faces need a picture")
    stream: Any = max(streams, key=_quality)
    if container.format.name == "webp_pipe" and _is_animated(path):
        container.close()
        raise InputError(
            f"{path}: an animated WebP, and castlist reads only WebP of one picture; convert it "
            "to MP4, GIF or APNG"
        )
    if stream.codec_context is None:
        container.close()
        raise InputError(f"{path}: its pictures are in a format that cannot be decoded here")
    stream.thread_type = "AUTO"
    stream.codec_context.thread_count = n_threads()
    stream.codec_context.options = dict(_LIMITS)
    return container, stream


def _quality(stream: Any) -> tuple[bool, bool, int, bool]:
    """Rank the video streams of a file: decodable, moving, large, and the file's own choice.

    Of equal streams, ``max`` takes the first.
    """
    context = stream.codec_context
    pixels = context.width * context.height if context is not None else 0
    chosen = bool(stream.disposition & av.stream.Disposition.default)
    return context is not None, stream.frames != 1, pixels, chosen


def _is_animated(path: Path) -> bool:
    """Say whether a WebP file holds several pictures, by the flags of its header."""
    with path.open("rb") as file:
        head = file.read(21)
    return head[12:16] == b"VP8X" and bool(head[20:] and head[20] & 2)


def reason(error: Exception) -> str:
    """Say what FFmpeg or the system has against something."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text)
