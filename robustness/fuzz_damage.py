"""Damage of all kinds for ``fuzz.py``: odd values, odd arrays, and bytes that lie."""

from __future__ import annotations

import copy
import io
import pickle
import re
import struct
import zipfile
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Made by anything that was unpickled and must not have been.
CANARY = "fuzz-canary"
#: Lengths, counts and sizes that a header may claim.
CLAIMS = (
    0, 1, -1, 2, 7, 127, 128, 255, 256, 1000, 32767, 65535, 60_000, 10**6, 10**9,
    2**31 - 1, -(2**31), 2**32 - 1, 2**53, 2**62, 2**63 - 1, -(2**63), 2**64 - 1,
)  # fmt: skip
_LONG = 50_000


class Hostile:
    """Unpickled, it makes a folder: the mildest thing that code can do."""

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.mkdir, (CANARY,)


def odd(rng: Random) -> Any:
    """Return an unexpected JSON value."""
    deep: Any = []
    for _ in range(rng.choice((3, 200))):
        deep = [deep]
    return rng.choice((
        None, True, False, 0, -1, 1, 0.5, -1e308, 1e308, float("nan"), float("inf"), 10**30,
        rng.choice(CLAIMS), rng.choice(CLAIMS), "", "x", "nan", "-1", "../../x", "/", "\x00",
        "é\u202e", "\ud800", "x" * _LONG, [], {}, [None], [[1, 2], [3]], {"": None}, deep,
        list(range(300)),
    ))  # fmt: skip


def damaged_json(value: Any, rng: Random, times: int = 0) -> Any:
    """Return a JSON value with a few of its parts replaced, removed, doubled or swapped."""
    value = copy.deepcopy(value)
    for _ in range(times or rng.choice((1, 1, 1, 2, 4))):
        value = _damaged_once(value, rng)
    return value


def _damaged_once(value: Any, rng: Random) -> Any:
    if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
        return odd(rng)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key, other = rng.choice(keys), rng.choice(keys)
    way = rng.random()
    if way < 0.6:
        value[key] = _damaged_once(value[key], rng)
    elif way < 0.75:
        del value[key]
    elif way < 0.9:
        value[key], value[other] = value[other], value[key]
    elif isinstance(value, list):
        value.append(copy.deepcopy(value[key]))
    else:
        value["more"] = copy.deepcopy(value[key])
    return value


def deep_json(rng: Random) -> bytes:
    """Return brackets in brackets, closed or not."""
    depth = rng.choice((900, 20_000, 200_000))
    begin, end = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"[[", b"]]")))
    return begin * depth + b"1" * rng.randint(0, 1) + end * rng.choice((0, depth))


def odd_array(rng: Random, like: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return an array of a strange kind or shape, or the one given with strange values."""
    if like is not None and rng.random() < 0.5:
        return _odd_values(like.copy(), rng)
    kind = rng.choice(("f2", "f4", "f8", "i1", "i4", "i8", "u8", "b1", "c8", "U3", "S2", "M8[s]"))
    shape = tuple(rng.choice((0, 1, 2, 3, 20)) for _ in range(rng.randint(0, 3)))
    made = np.zeros(shape, kind)
    if like is not None and like.ndim and rng.random() < 0.5:  # of the right length, at least
        made = np.zeros((len(like), *shape[1:]), kind)
    return _odd_values(made, rng)


def _odd_values(array: NDArray[Any], rng: Random) -> NDArray[Any]:
    if array.size:
        flat = array.reshape(-1)
        for _ in range(rng.randint(1, 3)):
            value = rng.choice((float("nan"), float("inf"), -1, 0, 2**31, -(2**62), 1e30, 0.5))
            try:
                with np.errstate(all="ignore"):
                    flat[rng.randrange(len(flat))] = value
            except (ValueError, OverflowError, TypeError):
                continue
    return array


def npy(array: NDArray[Any], rng: Random) -> bytes:
    """Write an array as ``.npy``; its header may claim another shape or type, or code."""
    way = rng.random()
    if way < 0.3:
        out = io.BytesIO()
        np.save(out, array, allow_pickle=False)
        return out.getvalue()
    shape: Any = tuple(rng.choice(CLAIMS) for _ in range(rng.randint(0, 4)))
    if way < 0.5:
        shape = array.shape
    kind = rng.choice(("<f4", "<f8", "|O", "<i8", "|V9", "|S0", "<U99999", "x", [("a", "<f4")]))
    if way > 0.8:
        kind = array.dtype.str
    order = rng.choice((True, False, 3))
    head = repr({"descr": kind, "fortran_order": order, "shape": shape})
    if way > 0.95:
        head = rng.choice(("(" * 3000, "{'descr':" * 999, "1" * 9000, "", "{}", head[:-3]))
    text = head.encode() + b"\n"
    length = rng.choice(CLAIMS) % 65536 if rng.random() < 0.1 else len(text)
    body = pickle.dumps(Hostile()) if kind == "|O" else array.tobytes()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + text + body


def npz(arrays: dict[str, NDArray[Any]], rng: Random) -> bytes:
    """Write arrays as ``.npz``, one of them damaged, missing or beyond all size."""
    out = io.BytesIO()
    victim = rng.choice(list(arrays))
    way = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(out, "w", way) as file:
        for name, array in arrays.items():
            if name != victim:
                plain = io.BytesIO()
                np.save(plain, array, allow_pickle=False)
                file.writestr(f"{name}.npy", plain.getvalue())
            elif rng.random() < 0.01:  # a bomb: a few kilobytes that become 400 MB
                head = io.BytesIO()
                claim = {"descr": "<f8", "fortran_order": False, "shape": (50_000_000,)}
                np.lib.format.write_array_header_1_0(head, claim)
                file.writestr(f"{name}.npy", head.getvalue() + bytes(4 * 10**8))
            elif rng.random() < 0.9:
                file.writestr(f"{name}.npy", npy(odd_array(rng, array), rng))
    return damaged_bytes(out.getvalue(), rng) if rng.random() < 0.3 else out.getvalue()


def damaged_bytes(data: bytes, rng: Random) -> bytes:
    """Return bytes with some changed, cut off, repeated, or overwritten with a claim."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if not found:
            break
        at = rng.randrange(len(found))
        way = rng.random()
        if way < 0.4:
            found[at] = rng.randrange(256)
        elif way < 0.8:
            found[at : at + 8] = claim(rng)
        elif way < 0.9:
            del found[at : at + rng.choice((1, 4, 100, len(found)))]
        else:
            found[at:at] = found[at : at + rng.choice((1, 4, 100))]
    return bytes(found)


def claim(rng: Random) -> bytes:
    """Return a claim as two, four or eight bytes, either end first."""
    size, code = rng.choice(((2, "H"), (4, "I"), (8, "Q")))
    return struct.pack(rng.choice("<>") + code, rng.choice(CLAIMS) % 2 ** (8 * size))


def near(data: bytes, marks: tuple[bytes, ...], rng: Random, reach: int = 48) -> bytes:
    """Overwrite numbers shortly after one of the given marks, where formats keep their headers."""
    made = bytearray(data)
    there = [mark for mark in marks if mark in data]
    for _ in range(rng.choice((1, 1, 2, 3)) if there else 0):
        mark = rng.choice(there)
        places = [found.end() for found in re.finditer(re.escape(mark), data)]
        at = rng.choice(places) + rng.randrange(reach)
        written = claim(rng)
        made[at : at + len(written)] = written
    return bytes(made) if there else damaged_bytes(data, rng)
