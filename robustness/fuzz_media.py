"""Pictures and videos for ``fuzz.py``: valid ones, and hostile ones made of them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import av
import cv2
import numpy as np

from robustness.fuzz_damage import claim, near


def pictures(home: Path) -> list[Path]:
    image = cv2.GaussianBlur(
        np.random.default_rng(0).integers(0, 255, (40, 48, 3), np.uint8), (9, 9), 0
    )
    paths = [home / f"a{suffix}" for suffix in (".png", ".jpg", ".bmp", ".webp")]
    for path in paths:
        cv2.imwrite(str(path), image)
    return paths


def videos(home: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    images = [cv2.resize(rng.integers(0, 255, (6, 8, 3), np.uint8), (64, 48)) for _ in range(12)]
    kinds = (
        ("a.mp4", "mpeg4"), ("b.mp4", "libx264"), ("c.mkv", "libx264"), ("d.avi", "mpeg4"),
        ("e.ts", "mpeg2video"), ("f.mpg", "mpeg2video"), ("g.m4v", "mpeg4"), ("h.mkv", "mjpeg"),
    )  # fmt: skip
    return [_write_video(home / name, codec, images) for name, codec in kinds]


def _write_video(path: Path, codec: str, images: Iterable[np.ndarray]) -> Path:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=25)
        stream.width, stream.height = 64, 48
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for i, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, "bgr24").reformat(format=stream.pix_fmt)
            frame.pts, frame.time_base = i, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def picture(seed: bytes, rng: Random) -> bytes:
    """Claim sides of a picture that it has not, or has: a bomb; checksums fit."""
    if rng.random() < 0.15:
        return _png(rng)
    if rng.random() < 0.1:
        long = np.zeros(rng.choice(((1, 16_000, 3), (9000, 1, 3), (60_000, 2, 3))), np.uint8)
        return bytes(cv2.imencode(rng.choice((".png", ".jpg", ".bmp")), long)[1].tobytes())
    if seed.startswith(b"BM"):
        return seed[:18] + _sides("<ii", rng) + seed[26:]
    at = seed.find(b"\xff\xc0")
    if seed.startswith(b"\xff\xd8") and at > 0:
        return seed[: at + 5] + _sides(">HH", rng) + seed[at + 9 :]
    return near(seed, (b"VP8 ", b"VP8L", b"VP8X", b"IHDR", b"RIFF", b"Exif", b"II*\x00"), rng, 24)


def _sides(form: str, rng: Random) -> bytes:
    sides = [rng.choice((0, 1, 160, 16_384, 60_000, 65_535, 2**31 - 1, -1)) for _ in range(2)]
    most = 2**31 - 1 if "i" in form else 65_535
    return struct.pack(form, *(min(abs(side), most) for side in sides))


def _png(rng: Random) -> bytes:
    width, height = (rng.choice((0, 1, 100, 5000, 16_384, 20_000, 60_000, 2**31)) for _ in range(2))
    depth, colour = rng.choice(((8, 2), (1, 0), (16, 6), (8, 3), (8, 0), (4, 9)))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, rng.choice((0, 0, 1)))
    rows = zlib.compress(bytes(min(width * height, 10**8) // 8 + 100))
    chunks = [(b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")]
    if rng.random() < 0.3:
        more = (
            (b"PLTE", bytes(3)), (b"eXIf", bytes(9)), (b"acTL", claim(rng)), (b"tRNS", bytes(300)),
            (b"iCCP", b"x\0\0" + rows[:999]),
        )  # fmt: skip
        chunks.insert(1, rng.choice(more))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


_MP4 = (
    b"mvhd", b"tkhd", b"mdhd", b"stts", b"ctts", b"stsd", b"stsc", b"stsz", b"stco", b"elst",
    b"stss", b"avcC", b"mp4v", b"avc1", b"esds", b"trun", b"hdlr", b"ftyp", b"moov", b"mdat",
    b"pasp",
)  # fmt: skip


_OTHERS = (
    b"avih", b"strh", b"strf", b"idx1", b"00dc",  # AVI
    b"\x2a\xd7\xb1", b"\x44\x89", b"\xe0", b"\xb0\x82", b"\xba\x82", b"\x54\xb0", b"\x23\xe3\x83",
    b"\xa3", b"\x1f\x43\xb6\x75", b"\xe7",  # Matroska: scale, duration, track, sides, times
    b"\x00\x00\x01\xb3", b"\x00\x00\x01\xb5", b"\x00\x00\x01\x20", b"\x00\x00\x01\xba",  # MPEG
    b"\x00\x00\x00\x01\x67", b"G@", b"GIF89a", b"YUV4MPEG2 W", b"DKIF",
)  # fmt: skip


def video(seed: bytes, rng: Random) -> bytes:
    """Lie in the headers: frames, sides, rates, times, sizes."""
    marks = _MP4 if b"ftyp" in seed[:16] else _OTHERS
    return near(seed, marks, rng, rng.choice((8, 24, 90)))
