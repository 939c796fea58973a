"""Whether two folders hold the same: bit for bit, but for how long things took."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

#: What may differ between two runs: how long something took, and where one was taken up.
RUN_TIMES = frozenset({"seconds", "resumed_at"})
EPOCH_TIMES = frozenset({"train_seconds", "validate_seconds"})
#: The study's one measurement of time, and the table that shows it.
MEASURED = re.compile(r"cache/seconds-an-epoch-\w+\.json")
SHOWN = {
    "tables.md": re.compile(r"## Seconds per epoch.*?(?=\n## |\Z)", re.S),
    "index.html": re.compile(r"<section[^>]*seconds.*?</section>", re.S),
}


def contents(folder: Path) -> dict[str, str]:
    """Return a print of every file and folder in a folder, by its path there."""
    return {
        str(path.relative_to(folder)): "folder" if path.is_dir() else _print(path, folder)
        for path in sorted(folder.rglob("*"))
    }


def differences(want: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return what is missing or not the same."""
    return [name for name, value in want.items() if found.get(name) != value]


def leftovers(want: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return files that the command should not have left."""
    return [name for name in found if name not in want]


def _print(path: Path, folder: Path) -> str:
    return hashlib.sha256(_plain(path, folder)).hexdigest()


def _plain(path: Path, folder: Path) -> bytes:
    """Return a file's content without the times in it."""
    name = path.name
    if MEASURED.search(str(path.relative_to(folder))):
        return b"measured"
    if name == "run.json":
        return _json(json.loads(path.read_text("utf-8")), RUN_TIMES)
    if name == "answer.json":
        return _json(json.loads(path.read_text("utf-8")), EPOCH_TIMES)
    if name == "log.jsonl":
        lines = path.read_text("utf-8").splitlines()
        return b"\n".join(_json(json.loads(line), EPOCH_TIMES) for line in lines)
    if name.endswith(".safetensors"):
        return _tensors(path)
    if name == "balls.npz":
        return _balls(path)
    if name == "corrections.db":
        return "\n".join(_dump(path)).encode()
    if name in SHOWN:
        plain, shown = SHOWN[name].subn("", path.read_text("utf-8"))
        assert shown == 1, f"{path}: {shown} tables of times"
        return plain.encode()
    return path.read_bytes()


def _json(value: Any, without: frozenset[str]) -> bytes:
    def plain(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: plain(item) for key, item in one.items() if key not in without}
        return [plain(item) for item in one] if isinstance(one, list) else one

    return json.dumps(plain(value)).encode()


def _tensors(path: Path) -> bytes:
    with safe_open(path, framework="np") as file:
        about = [json.loads((file.metadata() or {}).get("castlist", "{}"))]
        parts = [_json(about, EPOCH_TIMES)]
        for name in sorted(file.keys()):
            tensor = file.get_tensor(name)
            parts += [f"{name} {tensor.dtype} {tensor.shape}".encode(), tensor.tobytes()]
    return b"\n".join(parts)


def _balls(path: Path) -> bytes:
    """Return what is in a file of balls; sums depend in the last digit on how they were added."""
    with np.load(path) as file:
        parts = [np.round(file[name], 9) if name == "sums" else file[name] for name in file.files]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


_WHEN = re.compile(r"""^(INSERT INTO "events" VALUES\(\d+,)[-\d.e+]+,""")


def _dump(path: Path) -> Iterable[str]:
    """Return the events of a log without times; the bytes of its file may differ."""
    # As a copy: to look at a log is not to change the folder.
    log = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        yield from (_WHEN.sub(r"\1", line) for line in log.iterdump())
    finally:
        log.close()
