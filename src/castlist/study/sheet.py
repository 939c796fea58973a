"""One test as its tables see it: columns in order, means over videos, the paper's figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from castlist.learn.train_settings import TrainSettings
from castlist.study.methods import Method
from castlist.study.paper import COLUMNS, paper_values
from castlist.study.plan import Plan, Test
from castlist.study.results import Record, Results, Spread
from castlist.study.tables import COUNT_ERROR, NMI, Cell, Metric, cell_of

#: The paper's means are over these: its single episodes.
EPISODES = 12


class Sheet:
    """The records of one test.

    Attributes
    ----------
    columns : videos, then videos together.
    videos : the single ones of them, over which means are taken.
    n_characters : column → the true number.
    """

    def __init__(self, plan: Plan, test: Test, results: Results) -> None:
        self.plan, self.test = plan, test
        records = results.pick(test=test.name)
        self._found: dict[tuple[str, str, str], list[Record]] = {}
        for one in records:
            self._found.setdefault((one.column, one.method, one.how), []).append(one)
        self.statistics = {one.name: one for one in results.statistics.get(test.name, ())}
        names = dict.fromkeys([*self.statistics, *(one.column for one in records)])
        self.videos = [name for name in names if name not in test.combined]
        self.columns = self.videos + [name for name in names if name in test.combined]
        self.n_characters = {one.column: one.n_characters for one in records} | {
            name: one.n_characters for name, one in self.statistics.items()
        }

    def methods(self, *hows: str) -> list[Method]:
        """Return the methods with such records: the paper's in its order, then others."""
        seen = {method for _, method, how in self._found if how in hows}
        known = {one.name: one for one in self.plan.methods}
        names = [*known, *sorted(seen - set(known))]
        order = ["base", *paper_values()["test"]]
        found = [known.get(name, Method(name, TrainSettings())) for name in names if name in seen]
        return sorted(
            found, key=lambda one: order.index(one.key) if one.key in order else len(order)
        )

    def cell(self, column: str, method: Method, how: str, metric: Metric) -> Cell:
        """Return a figure of one column, over seeds."""
        records = self._found.get((column, method.name, how))
        return cell_of(
            Spread.of(map(metric.of, records)) if records else None,
            metric,
            n_characters=self.n_characters.get(column),
            paper=self._paper(column, method, how, metric),
        )

    def mean(self, method: Method, how: str, metric: Metric = NMI) -> Spread | None:
        """Average a figure over the videos, then over the seeds that have every video."""
        seeds: dict[int, list[float]] = {}
        for video in self.videos:
            for record in self._found.get((video, method.name, how), ()):
                seeds.setdefault(record.seed, []).append(metric.of(record))
        whole = [float(np.mean(one)) for one in seeds.values() if len(one) == len(self.videos)]
        return Spread.of(whole) if whole else None

    def paper_mean(self, method: Method, how: str, metric: Metric = NMI) -> float | None:
        """Average the paper's figure over its 12 episodes."""
        place = paper_place(method.key, how) if self.test.paper else None
        if place is None:
            return None
        truth = np.array(paper_values()["statistics"]["n_characters"][:EPISODES])
        if metric is COUNT_ERROR:
            return float(100 * np.mean(np.abs(place["n_clusters"][:EPISODES] - truth) / truth))
        return float(np.mean(place[metric.key][:EPISODES])) if metric.key in place else None

    def _paper(self, column: str, method: Method, how: str, metric: Metric) -> float | None:
        place = paper_place(method.key, how) if self.test.paper else None
        row = (place or {}).get(metric.key, ())
        at = _AT.get(_plain(column), len(row))
        return row[at] if at < len(row) else None

    def paper_statistic(self, column: str, key: str) -> int | None:
        """Return a figure of the paper's rows 1 to 6."""
        at = _AT.get(_plain(column)) if self.test.paper else None
        return None if at is None else int(paper_values()["statistics"][key][at])


def paper_place(key: str, how: str) -> Mapping[str, Any] | None:
    """Return where in ``paper.toml`` a method's figures are, if they are there."""
    paper = paper_values()
    if how == "own":
        found = paper["base"] if key == "base" else paper["test"].get(key)
    elif how in ("kmeans", "hac"):
        found = paper["known_k"].get(key, {}).get(how)
    elif how == "train":
        found = paper["train_threshold"].get(key, {}).get("train")
    else:
        found = paper[how].get(key)
    return found if isinstance(found, Mapping) else None


def _plain(column: str) -> str:
    """Write ``bbt_s01e02`` and ``BBT S1E2`` alike."""
    return re.sub(r"[\W_]|(?<!\d)0+(?=\d)", "", column).casefold()


_AT = {_plain(name): i for i, name in enumerate(COLUMNS)}
