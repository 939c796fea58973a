"""The graph of a cast: who is seen with whom, and for how long."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

import numpy as np

from castlist.cast.current import CurrentCast
from castlist.export.timeline import timelines, unique_labels
from castlist.format import lasting
from castlist.handover.intervals import intersection
from castlist.handover.scenes import appearances_by_number

#: Most lines in a picture that have their time as text; more would cover each other.
_TIMES = 12


@dataclass(frozen=True)
class CastGraph:
    """Screen time per character, and shared seconds per pair.

    Attributes
    ----------
    labels : list of str
        One label per character, in the order of the cast.
    numbers : list of int
        Their numbers.
    seconds : list of float
        Screen time of each.
    background : list of bool
        Whether each is a background character.
    shared : dict of (int, int) to float
        Seconds for which both characters of a pair are seen, by position in ``labels``; pairs that
        are never seen together are absent.
    """

    labels: list[str]
    numbers: list[int]
    seconds: list[float]
    background: list[bool]
    shared: dict[tuple[int, int], float] = field(default_factory=dict)


def cast_graph(cast: CurrentCast, gap: float = 0.0) -> CastGraph:
    """Return who is seen with whom.

    Parameters
    ----------
    cast : Corrections
        The cast of a folder.
    gap : float
        Seconds. Appearances of one person that are at most this far apart count as one, so that
        people who are shown in turn share time.
    """
    characters = cast.cast.characters
    numbers = [one.number for one in characters]
    shared: dict[tuple[int, int], float] = {}
    for timeline in timelines(cast):
        seen = appearances_by_number(timeline, gap)
        for i, j in itertools.combinations(range(len(numbers)), 2):
            if numbers[i] in seen and numbers[j] in seen:
                both = intersection(seen[numbers[i]], seen[numbers[j]])
                if len(both):
                    shared[i, j] = shared.get((i, j), 0.0) + float(np.diff(both).sum())
    return CastGraph(
        unique_labels(cast.cast), numbers, [one.seconds for one in characters],
        [one.background for one in characters], shared,
    )  # fmt: skip


def graphml_lines(graph: CastGraph) -> Iterator[str]:
    """Write a graph as GraphML, for Gephi, Cytoscape, yEd and NetworkX."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for name, kind, domain in (
        ("label", "string", "node"), ("number", "int", "node"), ("seconds", "double", "node"),
        ("background", "boolean", "node"), ("weight", "double", "edge"),
    ):  # fmt: skip
        yield f'  <key id="{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '  <graph id="cast" edgedefault="undirected">\n'
    for i, label in enumerate(graph.labels):
        values = {
            "label": escape(label), "number": graph.numbers[i],
            "seconds": f"{graph.seconds[i]:.3f}", "background": str(graph.background[i]).lower(),
        }  # fmt: skip
        data = "".join(f'<data key="{key}">{value}</data>' for key, value in values.items())
        yield f'    <node id="n{graph.numbers[i]}">{data}</node>\n'
    for (i, j), seconds in graph.shared.items():
        ends = f'source="n{graph.numbers[i]}" target="n{graph.numbers[j]}"'
        yield f'    <edge {ends}><data key="weight">{seconds:.3f}</data></edge>\n'
    yield "  </graph>\n</graphml>\n"


def svg_lines(graph: CastGraph, most: int = 24) -> Iterator[str]:
    """Write a picture of a graph as SVG.

    Characters stand on a circle by screen time. The area of a disc is screen time, the width of a
    line shared time. Both are written too; shared time only if there are few pairs.

    Parameters
    ----------
    graph : CastGraph
        The graph.
    most : int
        Number of characters drawn, those with most screen time.
    """
    drawn = range(min(most, len(graph.labels)))
    side, radius = 900, 330
    at = [
        (side / 2 + radius * math.sin(2 * math.pi * i / max(1, len(drawn))),
         side / 2 - radius * math.cos(2 * math.pi * i / max(1, len(drawn))))
        for i in drawn
    ]  # fmt: skip
    longest = max((graph.seconds[i] for i in drawn), default=1.0) or 1.0
    closest = max((s for pair, s in graph.shared.items() if max(pair) < len(drawn)), default=1.0)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" '
    yield 'font-family="sans-serif" font-size="15" role="img" aria-label="Who is seen with whom">\n'
    yield '<rect width="100%" height="100%" fill="#fff"/>\n'
    for (i, j), seconds in graph.shared.items():
        if max(i, j) < len(drawn):
            (x1, y1), (x2, y2) = at[i], at[j]
            yield (
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#7a8ca5" '
                f'stroke-opacity="0.6" stroke-width="{1 + 9 * seconds / closest:.1f}">'
                f"<title>{escape(graph.labels[i])} and {escape(graph.labels[j])}: "
                f"{seconds:.1f} s</title></line>\n"
            )
    for i in drawn:
        x, y = at[i]
        size = 8 + 34 * math.sqrt(graph.seconds[i] / longest)
        fill = "#b8bec8" if graph.background[i] else "#2d6cdf"
        label = escape(graph.labels[i])
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{fill}">'
            f"<title>{label}: {graph.seconds[i]:.1f} s</title></circle>\n"
        )
        yield _text(x, y + size + 18, graph.labels[i])
        yield _text(x, y + size + 34, lasting(graph.seconds[i]), "#555")
    pairs = [pair for pair in graph.shared if max(pair) < len(drawn)]
    for i, j in pairs if len(pairs) <= _TIMES else ():
        (x1, y1), (x2, y2) = at[i], at[j]  # not in the middle, where lines cross
        time = lasting(graph.shared[i, j])
        yield _text(x1 + 0.4 * (x2 - x1), y1 + 0.4 * (y2 - y1), time, "#555")
    yield "</svg>\n"


def _text(x: float, y: float, text: str, fill: str = "#000") -> str:
    """Return text in the middle of x, with a white edge, as lines may be behind it."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{fill}" stroke="#fff" '
        f'stroke-width="4" paint-order="stroke">{escape(text)}</text>\n'
    )
