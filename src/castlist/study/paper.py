"""What the paper printed, to set beside what we measure."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def paper_values() -> dict[str, Any]:
    """Return every figure of the paper's tables, as ``paper.toml`` beside this file orders them.

    NMI and WCP are in percent, as printed. The answer is shared: read it, do not change it.
    """
    return tomllib.loads(resources.files(__package__).joinpath("paper.toml").read_text("utf-8"))


#: The 12 test episodes, then those of each series together, then all: what a row of 15 is about.
COLUMNS: tuple[str, ...] = tuple(paper_values()["columns"])
