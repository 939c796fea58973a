"""The figures that the paper prints, for comparison with ours."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
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


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of the paper.

    Attributes
    ----------
    label : its label in the LaTeX source.
    name : ``Table 3`` or ``Figure 4``, numbered as printed.
    caption : beginning of its caption.
    illustration : whether it has no data, so that a study has nothing to compare with.
    """

    label: str
    name: str
    caption: str
    illustration: bool = False


@cache
def paper_contents() -> tuple[PaperItem, ...]:
    """Return every table and figure of the paper and its supplement, in order of appearance."""
    numbers = {"table": 0, "fig": 0}
    items = []
    for one in paper_values()["contents"]:
        kind = one["label"].partition(":")[0]
        numbers[kind] += 1
        name = f"{'Table' if kind == 'table' else 'Figure'} {numbers[kind]}"
        items.append(PaperItem(one["label"], name, one["caption"], one.get("illustration", False)))
    return tuple(items)
