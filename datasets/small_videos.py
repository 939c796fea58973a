"""Write small videos from arrays."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]  # height × width × BGR


def write_video(
    path: Path, images: Iterable[Image], fps: int | Fraction = 25, codec: str = "mpeg4",
    times: Iterable[float] | None = None, pixels: str = "yuv420p",
    aspect: Fraction | None = None, container: dict[str, str] | None = None, **options: str,
) -> Path:  # fmt: skip
    """Write BGR images as a video; ``times`` (seconds) give a variable frame rate.

    ``aspect`` is the width of a pixel by its height, if pixels are not square. ``container`` has
    options of the file, and ``options`` those of its encoder.
    """
    with av.open(str(path), "w", container_options=container or {}) as film:
        stream = film.add_stream(codec, rate=fps, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.pix_fmt = pixels
        stream.bit_rate = 4_000_000
        if times is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        if aspect is not None:
            stream.codec_context.sample_aspect_ratio = aspect
        moments = iter(times) if times is not None else None
        for i, image in enumerate(images):
            if not i:
                stream.height, stream.width = image.shape[:2]
            frame = av.VideoFrame.from_ndarray(image, "bgr24").reformat(format=pixels)
            frame.time_base = Fraction(1, 1000) if moments else Fraction(1, fps)
            frame.pts = round(1000 * next(moments)) if moments else i
            for packet in stream.encode(frame):
                film.mux(packet)
        for packet in stream.encode(None):
            film.mux(packet)
    return path


def plain(colour: tuple[int, int, int], size: tuple[int, int] = (64, 48)) -> Image:
    """Return an image of one colour."""
    return np.full((size[1], size[0], 3), colour, np.uint8)


def turn_upright(path: Path, quarter_turns_clockwise: int) -> None:
    """Set the rotation in the track header of an MP4 file."""
    orient(path, {1: (0, 1, -1, 0), 2: (-1, 0, 0, -1), 3: (0, -1, 1, 0)}[quarter_turns_clockwise])


def orient(path: Path, matrix: tuple[float, float, float, float]) -> Path:
    """Set the display matrix in the track header of an MP4 file.

    Of (a, b, c, d), a stored point (x, y) is shown at (a x + c y, b x + d y).
    """
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40  # version 0: the matrix is 40 bytes in
    a, b, c, d = (round(65_536 * number) for number in matrix)
    struct.pack_into(">9i", data, at, a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(bytes(data))
    return path


def write_with_sound(
    path: Path, images: Iterable[Image], fps: int = 25, *, sound: float, delay: float = 0.0,
    start: float = 0.0,
) -> Path:  # fmt: skip
    """Write a video with so many seconds of sound, whose first picture comes after ``delay``.

    Times in the file begin at ``start``.
    """
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps)
        audio = container.add_stream("aac", rate=48_000, layout="mono")
        assert isinstance(stream, av.VideoStream)
        assert isinstance(audio, av.AudioStream)
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        tone = np.sin(np.arange(1024) * 0.2)[None].astype(np.float32)
        blocks = iter(range(int(sound * 48_000 / 1024)))

        def hum(until: float) -> None:
            for k in blocks:
                block = av.AudioFrame.from_ndarray(tone, "fltp", "mono")
                block.sample_rate, block.pts = 48_000, round(48_000 * start) + 1024 * k
                container.mux(audio.encode(block))
                if (k + 1) * 1024 / 48_000 > until:
                    return

        for i, image in enumerate(images):
            if not i:
                stream.height, stream.width = image.shape[:2]
            hum(delay + i / fps)
            frame = av.VideoFrame.from_ndarray(image, "bgr24").reformat(format="yuv420p")
            frame.pts = round(1000 * (start + delay + i / fps))
            frame.time_base = Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        hum(sound)
        container.mux(audio.encode(None))
    return path
