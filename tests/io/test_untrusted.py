from __future__ import annotations

import io
import os
import struct

import numpy as np
import pytest

from castlist import InputError
from castlist.io.untrusted import load_array, load_arrays, parse_json


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("pwned",)


def npy(head: str, body: bytes = b"") -> bytes:
    text = head.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def pickled() -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([Hostile()], object), allow_pickle=True)
    return out.getvalue()


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "{", "9" * 5000, b"\xff", r'"\ud800"', rb'"\uDFFF"']
)
def test_json_fails_in_one_way(text):
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_json_of_letters_in_two_halves():
    assert parse_json(r'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no array",
        pickled(),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9)}"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", bytes(8)),
        npy("{'descr': 'x', 'fortran_order': False, 'shape': ()}"),
        npy("{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000, 9)}"),
        npy("(" * 3000),
        npy("{'descr':" * 999),
        npy("{"),
    ],
)
@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_arrays_that_are_none(tmp_path, monkeypatch, data, mmap_mode):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.npy: not a whole"):
        load_array(path, mmap_mode)
    assert not (tmp_path / "pwned").exists()


def test_an_archive_is_no_array(tmp_path):
    with (tmp_path / "a.npy").open("wb") as file:
        np.savez(file, a=np.eye(2))
    with pytest.raises(InputError, match="archive"):
        load_array(tmp_path / "a.npy")


def test_archives(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.npz"
    np.savez(path, a=np.eye(2), b=np.array("x"))
    found = load_arrays(path)
    assert found["a"].tolist() == [[1, 0], [0, 1]]
    assert str(found["b"]) == "x"
    np.savez_compressed(path, a=np.zeros(10**6))  # it could be a bomb: castlist writes none
    with pytest.raises(InputError, match=r"a\.npz: .*compressed"):
        load_arrays(path)
    np.savez(path, a=np.array([Hostile()], object), allow_pickle=True)
    with pytest.raises(InputError, match=r"a\.npz: not a whole"):
        load_arrays(path)
    assert not (tmp_path / "pwned").exists()
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"a\.npz: not a whole"):
        load_arrays(path)
