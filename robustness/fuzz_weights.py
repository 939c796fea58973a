"""Hostile models and arrays for ``fuzz.py``."""

from __future__ import annotations

import io
import json
import pickle
import struct
from random import Random
from typing import Any

import numpy as np
import torch

from robustness.fuzz_damage import (
    CLAIMS,
    Hostile,
    damaged_bytes,
    damaged_json,
    deep_json,
    npy,
    npz,
    odd,
    odd_array,
)


def safetensors(seed: bytes, rng: Random) -> bytes:
    """Change the header of a safetensors file: offsets, shapes, types and metadata."""
    length = struct.unpack("<Q", seed[:8])[0]
    head, body = json.loads(seed[8 : 8 + length]), seed[8 + length :]
    about = head["__metadata__"]
    way = rng.random()
    if way < 0.6:
        value = damaged_json(json.loads(about["castlist"]), rng)
        about["castlist"] = json.dumps(value)
        if rng.random() < 0.05:
            about["castlist"] = deep_json(rng).decode()
    elif way < 0.9:
        tensor = head[rng.choice([name for name in head if name != "__metadata__"])]
        key, value = rng.choice((
            ("dtype", rng.choice(("F64", "F16", "BF16", "I64", "BOOL", "U8", "F8_E4M3", "X"))),
            ("shape", [rng.choice(CLAIMS) for _ in range(rng.randint(0, 4))]),
            ("shape", tensor["shape"][::-1]),
            ("data_offsets", [rng.choice(CLAIMS), rng.choice(CLAIMS)]),
            ("data_offsets", [0, len(body)]),
        ))  # fmt: skip
        tensor[key] = value
    else:
        head = damaged_json(head, rng)
    if rng.random() < 0.1:
        values = np.frombuffer(body[: len(body) // 4 * 4], np.float32).copy()
        values[rng.randrange(len(values))] = rng.choice((np.nan, np.inf, 1e38, -1e38))
        body = values.tobytes()
    text = json.dumps(head).encode()
    claimed = rng.choice(CLAIMS) % 2**64 if rng.random() < 0.05 else len(text)
    return struct.pack("<Q", claimed) + text + body


def checkpoint(seed: bytes, rng: Random) -> bytes:
    """Save a checkpoint with parts replaced: code, tensors of no size or of any, odd values."""
    value = torch.load(io.BytesIO(seed), weights_only=True)
    holder = value.get("model_state", value)
    key = rng.choice(list(holder))
    side = rng.choice((0, 1, 5, 30_000, 2_000_000))
    odds: list[Any] = [
        torch.zeros(1).expand(side, side), torch.zeros(side), torch.tensor(float("nan")),
        torch.zeros(2, 2, dtype=torch.complex64), torch.zeros(2, 2).to_sparse(), odd(rng),
        torch.zeros(2, 2, dtype=torch.int8), torch.zeros(3, 3, device="meta"), {}, [], Hostile(),
        torch.nn.Parameter(torch.zeros(4, 2)), torch.zeros(4, 2).t(), np.zeros(3),
    ]  # fmt: skip
    place = rng.choice((holder, value, value.get("criterion_state", value)))
    place[rng.choice((key, *value))] = rng.choice(odds)
    if rng.random() < 0.2:
        place.pop(rng.choice(list(place)))
    if rng.random() < 0.1:
        return pickle.dumps(value if rng.random() < 0.5 else Hostile(), rng.choice((2, 4)))
    out = io.BytesIO()
    torch.save(value, out, _use_new_zipfile_serialization=rng.random() < 0.5)
    return damaged_bytes(out.getvalue(), rng) if rng.random() < 0.3 else out.getvalue()


def array(seed: bytes, rng: Random) -> bytes:
    """Write another array than the one that was there, or the same under a lying header."""
    return npy(odd_array(rng, np.load(io.BytesIO(seed), allow_pickle=False)), rng)


def arrays(seed: bytes, rng: Random) -> bytes:
    """Write an archive of arrays, one of them odd."""
    with np.load(io.BytesIO(seed), allow_pickle=False) as file:
        return npz({name: file[name] for name in file.files}, rng)


def network(seed: bytes, rng: Random) -> bytes:
    """Change an ONNX file: shapes, types, operators, weights that claim much or lie elsewhere."""
    import onnx

    model = onnx.load_from_string(seed)
    graph = model.graph
    for _ in range(rng.randint(1, 3)):
        way = rng.randrange(6)
        node, weight = rng.choice(list(graph.node)), rng.choice(list(graph.initializer))
        if way == 0:
            value = rng.choice([*graph.input, *graph.output]).type.tensor_type
            value.elem_type = rng.randint(0, 25)
            for size in value.shape.dim:
                if rng.random() < 0.3:
                    size.dim_value = _int64(rng)
        elif way == 1:
            node.op_type = rng.choice(
                ("Reshape", "ConstantOfShape", "Tile", "Log", "Pad", "x" * 99)
            )
        elif way == 2:
            names = [*node.input, *node.output, "", "none"]
            node.input[rng.randrange(len(node.input))] = rng.choice(names)
        elif way == 3:
            weight.dims[:] = [_int64(rng) for _ in range(rng.randint(0, 4))]
        elif way == 4:
            weight.data_location = 1
            where = rng.choice(
                ("../../../etc/passwd", "/dev/zero", "/etc/passwd", "describer.onnx")
            )
            for key, text in (("location", where), ("offset", "0"), ("length", str(_int64(rng)))):
                weight.external_data.add(key=key, value=text)
        else:
            weight.raw_data = rng.randbytes(rng.choice((0, 1, len(weight.raw_data), 10**5)))
    data: bytes = model.SerializeToString()
    return damaged_bytes(data, rng) if rng.random() < 0.3 else data


def _int64(rng: Random) -> int:
    return rng.choice([claim for claim in CLAIMS if abs(claim) < 2**63] + [-1, 0, 1, 7])
