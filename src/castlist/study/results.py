"""What a study found, as plain records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from castlist.score.curves import Curve
from castlist.study.statistics import Statistics

#: How the number of clusters was arrived at. ``own``: the method's own τ, 4b or from validation.
#: ``train``: a τ chosen on the training set. ``kmeans`` and ``hac``: the true number was given.
HOWS = ("own", "train", "kmeans", "hac", "xmeans", "gmeans", "finetuned")


@dataclass(frozen=True)
class Record:
    """One clustering, scored. NMI and WCP are from 0 to 1.

    Attributes
    ----------
    test : name of the test, ``validation``, or ``ablation``.
    column : a video, or videos together; of an ablation, what was changed.
    method : name of the method; of an ablation, what it was changed to.
    how : one of ``HOWS``.
    """

    test: str
    column: str
    method: str
    seed: int
    how: str
    n_characters: int
    n_clusters: int
    nmi: float
    wcp: float

    def __post_init__(self) -> None:
        # Records are read from files, too.
        if not all(isinstance(one, str) for one in (self.test, self.column, self.method, self.how)):
            raise TypeError("a record's names must be text")
        figures = (self.seed, self.n_characters, self.n_clusters, self.nmi, self.wcp)
        if not all(isinstance(one, int | float) for one in figures) or self.n_characters < 1:
            raise TypeError("a record's figures must be numbers, of one character at least")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return asdict(self)

    @property
    def count_error(self) -> float:
        """|#Cl − #Ch| / #Ch."""
        return abs(self.n_clusters - self.n_characters) / self.n_characters


@dataclass(frozen=True)
class Spread:
    """A figure over seeds."""

    mean: float
    deviation: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Mean and standard deviation over seeds; of one seed the deviation is 0."""
        found = np.array(list(values), np.float64)
        deviation = float(found.std(ddof=1)) if len(found) > 1 else 0.0
        return cls(float(found.mean()), deviation, len(found))


@dataclass(frozen=True)
class Shown:
    """The clusters of one column as a gallery shows them: track ids, one list a cluster."""

    test: str
    column: str
    method: str
    video: str
    clusters: list[list[str]]


@dataclass(frozen=True)
class Results:
    """All that the tables and figures are made of.

    Attributes
    ----------
    records : every clustering.
    statistics : test → the rows 1 to 6 of its columns, in order.
    curves : (test, column) → method → its curve over the number of clusters, and where it stopped.
    shown : clusters for the galleries.
    seconds : loss → seconds of one epoch, measured side by side.
    skew : test → how many tracks each identity has, most first, and which are background.
    """

    records: list[Record]
    statistics: dict[str, list[Statistics]] = field(default_factory=dict)
    curves: dict[tuple[str, str], dict[str, tuple[Curve, int]]] = field(default_factory=dict)
    shown: list[Shown] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    skew: dict[str, tuple[list[int], list[bool]]] = field(default_factory=dict)

    def pick(self, **wanted: Any) -> list[Record]:
        """Return the records whose fields have these values."""
        return [
            record
            for record in self.records
            if all(getattr(record, name) == value for name, value in wanted.items())
        ]

    def spread(self, value: Callable[[Record], float], **wanted: Any) -> Spread | None:
        """Average a value over seeds; None where there is no record."""
        found = self.pick(**wanted)
        return Spread.of(map(value, found)) if found else None
