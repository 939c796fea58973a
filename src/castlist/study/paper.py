"""The figures that the paper prints, for comparison with ours."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def paper_values() -> dict[str, Any]:
    """Return the figures of the paper's tables, as in ``paper.toml`` beside this file.

    NMI and WCP are in percent, as printed. The dictionary is shared; do not change it.
    """
    return tomllib.loads(resources.files(__package__).joinpath("paper.toml").read_text("utf-8"))


#: Columns of a row of 15: the 12 test episodes, each series combined, and all combined.
COLUMNS: tuple[str, ...] = tuple(paper_values()["columns"])
