from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
import pytest

from castlist import InputError
from castlist.video.images import read_picture


def png(width, height):
    """Write a picture's header, and next to nothing of it; checksums fit."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(999))), (b"IEND", b""))
    )


def test_a_decompression_bomb_is_not_decoded(tmp_path):
    path = tmp_path / "bomb.png"
    path.write_bytes(png(60_000, 60_000))
    with pytest.raises(InputError, match="bomb.png: cannot be read as a picture"):
        read_picture(path)
    path.write_bytes(png(12_000, 12_000))
    with pytest.raises(InputError, match="12000 × 12000 pixels"):
        read_picture(path)
    path.write_bytes(png(0, 7))
    with pytest.raises(InputError, match="bomb.png"):
        read_picture(path)


def test_pieces_that_claim_more_than_is_there(tmp_path):
    path = tmp_path / "bomb.png"
    whole = png(1, 1)
    pieces = whole.index(b"IDAT") - 4
    for damage in (b"\xad", b"\x7f\xff\xff"):  # OpenCV 5 runs for ever, and takes two gigabytes
        path.write_bytes(whole[:pieces] + damage + whole[pieces:])
        with pytest.raises(InputError, match="bomb.png: cannot be read as a picture"):
            read_picture(path)


def test_a_strip_is_not_enlarged_without_end(tmp_path):
    path = tmp_path / "strip.png"
    cv2.imwrite(str(path), np.zeros((2, 9000, 3), np.uint8))
    assert read_picture(path).shape == (2, 9000, 3)
    cv2.imwrite(str(path), np.zeros((2, 400, 3), np.uint8))
    assert read_picture(path).shape == (20, 4096, 3)


def test_only_pictures_of_the_kinds_that_are_listed(tmp_path):
    path = tmp_path / "tiff.png"
    path.write_bytes(cv2.imencode(".tiff", np.zeros((9, 9, 3), np.uint8))[1].tobytes())
    with pytest.raises(InputError, match="cannot be read as a picture"):
        read_picture(path)
