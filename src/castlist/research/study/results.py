"""Results of a study, as plain records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from castlist.research.score.curves import Curve
from castlist.research.study.statistics import Statistics

#: Ways of clustering. ``own``: at the method's τ, 4b or chosen on validation. ``train``: at a τ
#: chosen on the training set. ``kmeans`` and ``hac``: into the true number of clusters. ``one`` and
#: ``each``: all tracks in one cluster, and each track in its own.
HOWS = ("own", "train", "kmeans", "hac", "xmeans", "gmeans", "finetuned", "one", "each")


@dataclass(frozen=True)
class Record:
    """One scored clustering. NMI and WCP are from 0 to 1.

    Attributes
    ----------
    test : name of the test, ``validation``, or ``ablation``.
    column : a video or combined videos; for an ablation, the setting that changes.
    method : name of the method; for an ablation, the value of the setting.
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
        # Records are also read from files.
        if not all(isinstance(one, str) for one in (self.test, self.column, self.method, self.how)):
            raise TypeError("the names of a record must be strings")
        figures = (self.seed, self.n_characters, self.n_clusters, self.nmi, self.wcp)
        if not all(isinstance(one, int | float) for one in figures) or self.n_characters < 1:
            raise TypeError("the figures of a record must be numbers, with at least one character")

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        return asdict(self)

    @property
    def count_error(self) -> float:
        """|#Cl − #Ch| / #Ch."""
        return abs(self.n_clusters - self.n_characters) / self.n_characters


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of a figure over seeds."""

    mean: float
    deviation: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return mean and standard deviation; the deviation of one value is 0."""
        found = np.array(list(values), np.float64)
        deviation = float(found.std(ddof=1)) if len(found) > 1 else 0.0
        return cls(float(found.mean()), deviation, len(found))


@dataclass(frozen=True)
class Shown:
    """The clusters of one column for a gallery: one list of track ids per cluster."""

    test: str
    column: str
    method: str
    video: str
    clusters: list[list[str]]


@dataclass(frozen=True)
class Counts:
    """Sizes of one variant of an ablation.

    Attributes
    ----------
    dim : dimension of the describer's features.
    n_parameters : number of weights and biases of the MLP.
    n_in_batch, n_over_5 : mean number of identities per batch of its size, and of those with more
        than 5 tracks, if batches are drawn uniformly.
    """

    dim: int
    n_parameters: int
    n_in_batch: float
    n_over_5: float


@dataclass(frozen=True)
class Results:
    """All results, from which tables and figures are made.

    Attributes
    ----------
    records : all clusterings.
    statistics : test → rows 1 to 6 of the paper's test table, one entry per column.
    curves : (test, column) → method → its curve over the number of clusters, and the number at its
        τ.
    shown : clusters for the galleries.
    seconds : method → seconds per epoch, measured side by side.
    skew : test → number of tracks per identity, in descending order, and which are background.
    train_skew : number of tracks per identity of the training set, in descending order.
    counts : ablation and variant → its sizes.
    """

    records: list[Record]
    statistics: dict[str, list[Statistics]] = field(default_factory=dict)
    curves: dict[tuple[str, str], dict[str, tuple[Curve, int]]] = field(default_factory=dict)
    shown: list[Shown] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    skew: dict[str, tuple[list[int], list[bool]]] = field(default_factory=dict)
    train_skew: list[int] = field(default_factory=list)
    counts: dict[tuple[str, str], Counts] = field(default_factory=dict)

    def pick(self, **wanted: Any) -> list[Record]:
        """Return the records with these field values."""
        return [
            record
            for record in self.records
            if all(getattr(record, name) == value for name, value in wanted.items())
        ]

    def spread(self, value: Callable[[Record], float], **wanted: Any) -> Spread | None:
        """Return the spread of a value over the records with these fields; None without records."""
        found = self.pick(**wanted)
        return Spread.of(map(value, found)) if found else None
