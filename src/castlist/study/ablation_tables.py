"""What was tried on validation, one change at a time, and what an epoch of each loss costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from castlist.learn.train_settings import TrainSettings
from castlist.study.findings import best_finding, seconds_finding
from castlist.study.paper import paper_values
from castlist.study.plan import Plan, Variant
from castlist.study.results import Record, Results, Spread
from castlist.study.tables import (
    N_CLUSTERS,
    NMI,
    WCP,
    Cell,
    Group,
    Row,
    Table,
    cell_of,
    mark_best,
    method_title,
    short_title,
)

_METRICS = (N_CLUSTERS, NMI, WCP)
_KNOWN = {"kmeans": ", K-means, K known", "hac": ", K known", "train": ", τ from training"}


def validation_table(results: Results) -> Table | None:
    """Return what each method does on validation."""
    lines: dict[str, list[Record]] = {}
    for one in results.pick(test="validation"):
        title = method_title(one.method, one.how) + _KNOWN.get(one.how, "")
        lines.setdefault(title, []).append(one)
    return _table("validation", "Validation", lines, {}) if lines else None


def ablation_tables(plan: Plan, results: Results) -> list[Table]:
    """Return a table for each thing that was changed, in the plan's order."""
    found: dict[str, dict[str, list[Record]]] = {}
    for one in plan.variants:
        found.setdefault(one.group, {})[one.label] = []
    for record in results.pick(test="ablation"):
        found.setdefault(record.column, {}).setdefault(record.method, []).append(record)
    compare = any(test.paper for test in plan.tests)
    tables: list[Table] = []
    for column, lines in found.items():
        known = {label: records for label, records in lines.items() if records}
        if known:
            variants = [one for one in plan.variants if one.group == column]
            paper = papers_variants(variants) if compare else {}
            key = f"ablation{len(tables) + 1}"
            tables.append(_table(key, f"Ablation on validation: {column}", known, paper))
    return tables


def seconds_table(plan: Plan, results: Results) -> Table | None:
    """Return what one epoch of each loss costs."""
    if not results.seconds:
        return None
    paper, keys = paper_values()["seconds"], {one.name: one.key for one in plan.methods}
    ranked = sorted(results.seconds.items(), key=lambda one: one[1])
    rows = tuple(
        Row(
            method_title(name),
            (Cell(value, None, paper.get(keys.get(name)), 2, loss=round(value, 2)),),
        )
        for name, value in ranked
    )
    return Table(
        "seconds", "", "Seconds of one epoch",
        seconds_finding({short_title(name): value for name, value in ranked}),
        ("Loss", "Seconds"), mark_best([Group("", rows)], by_label=False),
        "the paper: the loss alone, over other faces, on another machine",
    )  # fmt: skip


def papers_variants(variants: Sequence[Variant]) -> dict[str, Mapping[str, Any]]:
    """Return the paper's figures of the same changes to its recipe, by label.

    What is changed is seen from the settings, whatever the group is called: what differs among its
    variants, or from the paper's recipe if there is one only.
    """
    recipes = [one.settings for one in variants]
    if any(one.loss != "ball" or one.rounds or one.residual for one in recipes):
        return {}
    if len(recipes) == 1:
        recipes = [*recipes, TrainSettings()]
    changes = _papers_changes()
    ways = [way for way in changes if len({getattr(one, way) for one in recipes}) > 1]
    if len(ways) == 1:
        of = changes[ways[0]]
        return {one.label: of.get(getattr(one.settings, ways[0]), {}) for one in variants}
    if not ways:  # other data: a describer, by its name
        of = _by(paper_values()["base_cnn"], "columns")
        return {one.label: of.get(one.label, {}) for one in variants}
    return {}


def _papers_changes() -> dict[str, dict[Any, Mapping[str, Any]]]:
    """Return setting → what the paper changed it to → its figures, as far as it printed any."""
    paper = paper_values()
    usual = {metric.key: paper["validation"][metric.key][-1] for metric in _METRICS}
    return {
        "embedding": _by(paper["embedding"], "dim"),
        "batch": _by(paper["batch"], "size"),
        "on_sphere": {True: usual, False: paper["l2"]},
        "average_half": {False: usual, True: {"n_clusters": paper["half"]["n_clusters"]}},
    }


def _by(table: Mapping[str, Any], key: str) -> dict[Any, Mapping[str, Any]]:
    return {
        state: {metric.key: table[metric.key][i] for metric in _METRICS}
        for i, state in enumerate(table[key])
    }


def _table(
    key: str, title: str, lines: Mapping[str, list[Record]], paper: Mapping[str, Mapping[str, Any]]
) -> Table:
    rows = []
    for name, records in lines.items():
        truth = records[0].n_characters
        cells = (
            cell_of(
                Spread.of(map(metric.of, records)), metric, n_characters=truth,
                paper=paper.get(name, {}).get(metric.key),
            )
            for metric in _METRICS
        )  # fmt: skip
        rows.append(Row(name, (Cell(truth, decimals=0), *cells)))
    values = {name: Spread.of(map(NMI.of, records)) for name, records in lines.items()}
    return Table(
        key, "", title, best_finding(values), ("", "#Ch", *(one.name for one in _METRICS)),
        mark_best([Group("", tuple(rows))], by_label=False),
    )  # fmt: skip
