"""Draw the paper's figures: curves over the number of clusters, and tracks per identity."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from castlist.errors import InputError
from castlist.extras import require
from castlist.io.files import replacing
from castlist.research.score.curves import Curve
from castlist.research.study.statistics import tracks_per_identity
from castlist.tracks import TrackSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED, _BACKGROUND = "#2b6ca3", "#e08214"
_FORMATS = (".png", ".svg", ".pdf")
#: Maximum number of curves with the legend inside the axes.
_INSIDE = 4


def draw_curves(
    path: str | Path | BytesIO,
    curves: Mapping[str, Curve],
    chosen: Mapping[str, int],
    n_characters: int,
    size: tuple[float, float] = (9, 3.8),
) -> None:
    """Draw NMI and WCP over the number of clusters, with operating points as circles.

    Parameters
    ----------
    path : path
        File ending in ``.png``, ``.svg`` or ``.pdf``; a ``BytesIO`` gets SVG.
    curves : mapping
        Method → its curve.
    chosen : mapping
        Method → its estimated number of clusters, drawn as a circle.
    n_characters : int
        True number of characters, drawn as a line.
    size : pair of floats
        Width and height, inches.
    """
    figure = _figure(size)
    right = 3 * max([n_characters, *chosen.values()])
    for axes, name in zip(figure.subplots(1, 2), ("nmi", "wcp"), strict=True):
        for i, (label, curve) in enumerate(curves.items()):
            values = 100 * getattr(curve, name)
            # Matplotlib repeats its colours after ten.
            style = ("-", "--", ":", "-.")[i // 10 % 4]
            plain = label.replace("$", r"\$")  # not mathematics
            (line,) = axes.plot(
                curve.n_clusters, values, label=plain, linewidth=1.6, linestyle=style
            )
            at = np.flatnonzero(curve.n_clusters == chosen.get(label))
            if len(at):
                axes.plot(
                    curve.n_clusters[at], values[at], "o", markersize=9, fillstyle="none",
                    markeredgewidth=2, color=line.get_color(),
                )  # fmt: skip
        axes.axvline(n_characters, color="0.6", linewidth=1, linestyle="--")
        axes.annotate(
            f"{n_characters} characters", (n_characters, 0), xycoords=("data", "axes fraction"),
            xytext=(4, 6), textcoords="offset points", fontsize=8, color="0.4",
        )  # fmt: skip
        axes.set(xlim=(1, right), ylim=(0, 102), xlabel="number of clusters", ylabel=name.upper())
        axes.grid(alpha=0.25)
    if len(curves) <= _INSIDE:
        axes.legend(loc="lower right", fontsize=8)
    else:
        lines, labels = axes.get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    _save(figure, path)


def draw_skew(path: str | Path, tracks: TrackSet) -> None:
    """Draw the number of tracks per identity, in descending order, with background marked."""
    draw_skew_of(path, *tracks_per_identity(tracks))


def draw_skew_of(path: str | Path | BytesIO, counts: ArrayLike, background: ArrayLike) -> None:
    """Draw given numbers of tracks per identity, in descending order."""
    counts, background = np.asarray(counts), np.asarray(background, bool)
    figure = _figure((7, 3.4))
    axes = figure.subplots()
    rank = np.arange(1, len(counts) + 1)
    for chosen, colour, label in (
        (~background, _NAMED, "named"),
        (background, _BACKGROUND, "background"),
    ):
        if chosen.any():
            axes.bar(rank[chosen], counts[chosen], width=1, color=colour, label=label)
    axes.set(
        yscale="log",
        xlabel="identities, in descending order of tracks",
        ylabel="tracks",
        ylim=(0.8, None),
    )
    if background.any():
        axes.legend(fontsize=8)
    _save(figure, path)


def _figure(size: tuple[float, float]) -> Figure:
    require("matplotlib", "a figure")
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _save(figure: Figure, path: str | Path | BytesIO) -> None:
    if isinstance(path, BytesIO):
        _write(figure, path, ".svg")
        return
    path = Path(path)
    if path.suffix not in _FORMATS:
        raise InputError(f"{path}: the name of a figure must end in {', '.join(_FORMATS)}")
    with replacing(path) as partial:
        _write(figure, partial, path.suffix)


def _write(figure: Figure, to: Path | BytesIO, suffix: str) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    # No date and no random ids, so that the same figure gives the same file.
    undated = {"Date": None} if suffix == ".svg" else {}
    with rc_context({"svg.hashsalt": "castlist"}):
        figure.savefig(to, format=suffix[1:], dpi=130, metadata=undated)
