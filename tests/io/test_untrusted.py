from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from castlist import InputError
from castlist.io.untrusted import load_array, load_arrays, parse_json, read_json, read_small


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


def test_arrays_under_many_names_are_read_under_none(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(1000))
    with zipfile.ZipFile(path, "a") as file:
        (one,) = file.infolist()
        for k in range(100):  # their bytes are those of the first
            other = zipfile.ZipInfo(one.filename.replace("a", f"b{k}"))
            other.header_offset, other.CRC = one.header_offset, one.CRC
            other.file_size, other.compress_size = one.file_size, one.compress_size
            file.filelist.append(other)
        file._didModify = True
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match=r"a\.npz: not a whole .*overlap"):
        load_arrays(path)


@pytest.mark.posix
@pytest.mark.parametrize("read", [load_array, load_arrays, read_json, read_small])
@pytest.mark.parametrize(
    "make", [lambda p: os.mkfifo(p), os.mkdir, lambda p: os.symlink("/dev/zero", p)]
)
def test_what_is_no_file_is_not_waited_for(tmp_path, read, make):
    make(tmp_path / "a")
    with pytest.raises(InputError, match=r"a: .*not a file, but a folder, a pipe or a device"):
        read(tmp_path / "a")


def test_small_files_are_small(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": "ä"}', "utf-8")
    assert read_json(path) == {"a": "ä"}
    assert read_small(path, 11) == path.read_bytes()
    with pytest.raises(InputError, match=r"a\.json: 11 bytes; the limit for such a file is 10"):
        read_small(path, 10)
    os.truncate(path, 2**40)
    with pytest.raises(InputError, match="the limit for such a file is 268,435,456"):
        read_json(path)
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none.json")
    assert read_small(Path("/proc/self/status")) == b""  # says that it has 0 bytes
