"""Hostile files for ``fuzz.py``: built whole, where damaged bytes would not pass a checksum."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.io import savemat

from robustness.fuzz_damage import damaged_json, deep_json, near, odd, odd_array
from robustness.fuzz_log import database
from robustness.fuzz_media import picture, video
from robustness.fuzz_weights import array, arrays, checkpoint, network, safetensors

Forge = Callable[[bytes, Random], bytes]


def parquet(seed: bytes, rng: Random) -> bytes:
    """Replace columns of a table by odd ones, and what castlist noted by odd notes."""
    table = pq.read_table(io.BytesIO(seed))
    rows, about = len(table), dict(table.schema.metadata or {})
    if rng.random() < 0.01:
        return _parquet_bomb(rng.choice((10**6, 6 * 10**7)))
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = rng.choice([*table.column_names, "described", "feature", "identity"])
        column = _odd_column(len(table) if rng.random() < 0.9 else rows, rng)
        if name in table.column_names:
            table = table.drop_columns([name])
        if len(column) == len(table) and rng.random() < 0.9:
            table = table.append_column(name, column)
    if b"castlist" in about and rng.random() < 0.3:
        value = damaged_json(json.loads(about[b"castlist"]), rng)
        about[b"castlist"] = deep_json(rng) if rng.random() < 0.1 else json.dumps(value).encode()
    out = io.BytesIO()
    kind = rng.choice(("none", "zstd", "snappy", "gzip"))
    pq.write_table(table.replace_schema_metadata(about), out, compression=kind)
    return out.getvalue()


@cache
def _parquet_bomb(rows: int) -> bytes:
    """Return a file of a few bytes that encodes one value millions of times."""
    table = pa.table({"track": pa.array(["a"] * 10, pa.string()).dictionary_encode()})
    out = io.BytesIO()
    pq.write_table(pa.concat_tables([table] * (rows // 10)).combine_chunks(), out)
    return out.getvalue()


def _odd_column(n: int, rng: Random) -> Any:
    def values(*some: Any) -> list[Any]:
        return [rng.choice(some) for _ in range(n)] if n < 1000 else [some[0]] * n

    nan, inf = float("nan"), float("inf")
    long = "x" * rng.choice((10, 10**6))
    dim = rng.choice((0, 1, 3, 16))
    return rng.choice((
        lambda: pa.array(values(0, 1, -1, 2**62, -(2**63)), pa.int64()),
        lambda: pa.array(values(0, 2**64 - 1), pa.uint64()),
        lambda: pa.array(values(0.0, nan, inf, -1e300, 1e30)),
        lambda: pa.array(values("a", "", "é\x00", long)),
        lambda: pa.array(values("a", "b", None)).dictionary_encode(),
        lambda: pa.array(values(b"a", b"\xff\xfe", None)),
        lambda: pa.array(values(True, False, None)),
        lambda: pa.nulls(n),
        lambda: pa.array(values([1.0], [], [1.0, 2.0], None)),
        lambda: pa.array(values({"a": 1}, {"a": None})),
        lambda: pa.array(values(0, 10**15), pa.timestamp("us")),
        lambda: pa.array(values([nan] * dim, [0.0] * dim), pa.list_(pa.float64(), dim)),
        lambda: pa.array(values([1e39] * dim, None), pa.list_(pa.float64(), dim)),
        lambda: pa.array(values([None] * dim, None, [1] * dim), pa.list_(pa.float32(), dim)),
        lambda: pa.array(values([1] * dim, None), pa.list_(pa.int32(), dim)),
    ))()  # fmt: skip


def ids(seed: bytes, rng: Random) -> bytes:
    """Write a list of labels with odd tracks and names."""
    words = ("7", "11", "14", "../7", "/etc/passwd", "", "unknown_1", "7 8 9", "é\u2028", "\x00")
    lines = [f"{rng.choice(words)} {rng.choice(words)}" for _ in range(rng.randint(0, 9))]
    if rng.random() < 0.1:
        lines.append("7 " + "x" * rng.choice((10**4, 10**5)))
    head = rng.choice(("CVHCI_TRACKLABELS_V1", "CVHCI_TRACKLABELS", "", "\ufeff"))
    return "\n".join([head, *lines]).encode("utf-8", "replace")


def mat(seed: bytes, rng: Random) -> bytes:
    """Write a FaceTracks whose fields are missing, odd or of unequal length; or a bomb."""
    names = ["x", "y", "w", "h", "frames", "timestamps", "trackerId"]
    if rng.random() < 0.3:
        names.remove(rng.choice(names))
    records = np.empty(rng.randint(0, 4), [(name, object) for name in names])
    for i in range(len(records)):
        column = np.arange(rng.choice((0, 1, 3)), dtype=np.float64)[:, None]
        good = {"trackerId": np.uint16((7, 11, 14, 7)[i])}
        cells = [good.get(name, column) for name in names]
        if rng.random() < 0.6:
            cells[rng.randrange(len(cells))] = odd_array(rng)
        records[i] = tuple(cells)
    found: Any = records[None] if rng.random() < 0.9 else odd(rng)
    if rng.random() < 0.02:
        return _mat_bomb()
    out = io.BytesIO()
    try:
        savemat(out, {"FaceTracks": found}, do_compression=rng.random() < 0.5,
                format=rng.choice(("5", "5", "4")))  # fmt: skip
    except Exception:  # a value that has no place in such a file
        return near(seed, (b"FaceTracks", b"\x0e\x00\x00\x00"), rng)
    return near(out.getvalue(), (b"FaceTracks", b"\x0e\x00\x00\x00"), rng)


@cache
def _mat_bomb() -> bytes:
    """Return a few kilobytes that become 160 MB."""
    out = io.BytesIO()
    savemat(out, {"FaceTracks": np.zeros(20_000_000)}, do_compression=True)
    return out.getvalue()


def toml(seed: bytes, rng: Random) -> bytes:
    """Replace a value of a plan, a name, or a table by something else."""
    lines = seed.decode().splitlines()
    values = (
        "1", "-1", "1e400", "nan", "inf", "true", '"x"', '""', "[]", "{}", "[1, 2]", "1979-05-27",
        "9" * 400, "9" * 5000, '["train.parquet"]', '"/"', '".."', '"a\\u0000b"', "[" * 5000,
        "{a=" * 5000, '"x' + "x" * 9999 + '"', "[[1], {a = 1}]", "0.5", "3000000000",
    )  # fmt: skip
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        key, equals, _ = lines[at].partition("=")
        if equals:
            lines[at] = f"{key}= {rng.choice(values)}"
        elif rng.random() < 0.5:
            lines[at] = rng.choice(("[a]", "[[test]]", "[method]", "[" + "a." * 4000 + "b]", ""))
        else:
            lines.insert(at, rng.choice(lines))
    return "\n".join(lines).encode()


def mot(seed: bytes, rng: Random) -> bytes:
    """Write lines of odd numbers."""
    words = ("1", "0", "-1", "1.5", "nan", "inf", "1e309", "9" * 30, "9" * 400, "", "x", "²", "1_0")
    lines = seed.decode().splitlines()
    for _ in range(rng.choice((1, 2, 5))):
        at = rng.randrange(len(lines))
        cells = lines[at].split(",")
        cells[rng.randrange(len(cells))] = rng.choice(words)
        lines[at] = (
            rng.choice((",", " ", ";")).join(cells) if rng.random() < 0.2 else ",".join(cells)
        )
    if rng.random() < 0.02:
        lines.append(",".join(lines) * 50)
    return "\n".join(lines).encode()


def speech(seed: bytes, rng: Random) -> bytes:
    """Put odd words and numbers between the separators of a diarization or of subtitles."""
    words = ("1", "0", "-1", "nan", "1e308", "9" * 400, "", "٣", "1_0", "-->", "a\x1b[2J", "\u2028")
    parts = re.split(r"([ :,.\n])", seed.decode())
    for _ in range(rng.choice((1, 2, 5))):
        parts[2 * rng.randrange(len(parts) // 2)] = rng.choice(words)
    if rng.random() < 0.1:
        parts.append(rng.choice(("9" * 10**5, "\n".join(parts) * 50, "".join(parts) * 200)))
    return "".join(parts).encode()


def cvat(seed: bytes, rng: Random) -> bytes:
    """Write XML with entities that laugh or look elsewhere, deep nesting, and odd attributes."""
    text = seed.decode()
    way = rng.random()
    if way < 0.3:
        laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
        kinds = (
            f'<!DOCTYPE a [<!ENTITY l0 "ha">{laughs}]>',
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///dev/zero">]>',
            '<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///dev/zero"> %x;]>',
            '<!DOCTYPE a SYSTEM "file:///dev/zero">',
            '<!DOCTYPE a [<!ENTITY q "' + "q" * 10**5 + '">]>',
        )
        body = text.partition("?>")[2] or text
        return (
            rng.choice(kinds) + body.replace("</", rng.choice(("&l11;", "&x;", "&q;")) + "</", 1)
        ).encode()
    if way < 0.35:
        return ("<a>" * 10**4 + "</a>" * rng.choice((0, 10**4))).encode()
    words = (
        "",
        "nan",
        "-1",
        "1e400",
        "9" * 30,
        "9" * 9999,
        "x",
        "1" + " " * 1000,
        "&#0;",
        "x" * 10**4,
    )
    pieces = text.split('"')
    for _ in range(rng.choice((1, 2, 4))):
        pieces[rng.randrange(1, len(pieces), 2)] = rng.choice(words)
    kind = rng.choice(("utf-8", "utf-8", "utf-16", "latin-1"))
    return '"'.join(pieces).encode(kind, "replace")


def notes(seed: bytes, rng: Random) -> bytes:
    """Write JSON with parts of it replaced."""
    if rng.random() < 0.05:
        return deep_json(rng)
    return json.dumps(damaged_json(json.loads(seed), rng)).encode()


#: How a file is forged, by the end of its name.
FORGES: dict[str, Forge] = {
    ".parquet": parquet, ".ids": ids, ".mat": mat, ".npy": array, ".npz": arrays, ".json": notes,
    ".safetensors": safetensors, ".tar": checkpoint, ".pth": checkpoint, ".toml": toml,
    ".txt": mot, ".xml": cvat, ".db": database, ".onnx": network,
    **dict.fromkeys((".rttm", ".srt", ".vtt"), speech),
    **dict.fromkeys((".png", ".jpg", ".bmp", ".webp"), picture),
    **dict.fromkeys((".mp4", ".mkv", ".avi", ".ts", ".mpg", ".m4v"), video),
}  # fmt: skip
