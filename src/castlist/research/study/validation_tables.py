"""Tables on validation: the extremes of clustering, all methods, the ablations, and the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from castlist.research.study.findings import best_finding, extremes_finding, seconds_finding
from castlist.research.study.paper import paper_values
from castlist.research.study.plan import Plan, Variant
from castlist.research.study.results import Counts, Record, Results, Spread
from castlist.research.study.tables import (
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
from castlist.research.training.train_settings import TrainSettings

_METRICS = (N_CLUSTERS, NMI, WCP)
#: Ablations that the paper prints as a table, by the setting that changes.
_LABELS = {
    "embedding": "table:embed_dim",
    "batch": "table:batch_size",
    "describer": "table:vgg2face",
}
#: Their sizes: key in ``paper.toml`` → column title.
_SIZES: dict[str, dict[str, str]] = {
    "embedding": {"n_parameters": "#P"},
    "batch": {"n_in_batch": "#Cl in batch", "n_over_5": "#Cl in batch, > 5 samples"},
    "describer": {"dim": "Dim", "n_parameters": "#P"},
}


def extremes_table(plan: Plan, results: Results) -> Table | None:
    """Return the paper's first table: one cluster, N clusters, base features at K, and ours."""
    wanted = [
        ("one cluster", "one", "One cluster"),
        ("N clusters", "each", "N clusters"),
        ("base", "hac", "Base features, K known"),
        *(
            (one.name, "own", f"{method_title(one.name)}, τ = 4b")
            for one in plan.methods
            if one.settings and one.own_threshold and one.name in ("ball", "neighbours")
        ),
    ]
    found = {
        (method, how): (title, records)
        for method, how, title in wanted
        if (records := results.pick(test="validation", method=method, how=how))
    }
    if not any(how == "hac" for _, how in found):
        return None
    paper = paper_values()["validation"]
    place = {"one": 0, "each": 1, "hac": 2}
    places = [3 if method == "ball" else place.get(how) for method, how in found]
    compare = any(test.paper for test in plan.tests)
    rows = []
    for metric in _METRICS:
        cells = (
            cell_of(
                Spread.of(map(metric.of, records)), metric,
                paper=paper[metric.key][at] if compare and at is not None else None,
            )
            for (_, records), at in zip(found.values(), places, strict=True)
        )  # fmt: skip
        rows.append(Row(metric.name, tuple(cells)))
    values = {
        short_title(method) + (", K known" if how == "hac" else ""): Spread.of(map(NMI.of, records))
        for (method, how), (_, records) in found.items()
        if how in ("hac", "own")
    }
    n_characters = next(iter(found.values()))[1][0].n_characters
    return Table(
        "validation-extremes", "", "Validation: extremes, base features and balls",
        extremes_finding(n_characters, paper["n_characters"] if compare else None, values),
        ("", *(title for title, _ in found.values())), (Group("", tuple(rows)),),
        labels=("table:validation_ball_clustering",),
    )  # fmt: skip


def validation_table(results: Results) -> Table | None:
    """Return the table of all methods on validation."""
    lines: dict[str, list[Record]] = {}
    for one in results.pick(test="validation", how="own"):
        lines.setdefault(method_title(one.method), []).append(one)
    return _table("validation", "Validation: all methods", lines) if lines else None


def ablation_tables(plan: Plan, results: Results) -> list[Table]:
    """Return one table per ablation, in the plan's order."""
    found: dict[str, dict[str, list[Record]]] = {}
    for one in plan.variants:
        found.setdefault(one.group, {})[one.label] = []
    for record in results.pick(test="ablation"):
        found.setdefault(record.column, {}).setdefault(record.method, []).append(record)
    compare = any(test.paper for test in plan.tests)
    tables: list[Table] = []
    for group, lines in found.items():
        known = {label: records for label, records in lines.items() if records}
        if known:
            variants = [one for one in plan.variants if one.group == group]
            change = _change(variants)
            tables.append(
                _table(
                    f"ablation{len(tables) + 1}", f"Ablation on validation: {group}", known,
                    paper_ablation(variants) if compare else {},
                    {one.label: _sizes(one, change, results.counts) for one in variants},
                    (_LABELS[change],) if change in _LABELS else (),
                )
            )  # fmt: skip
    return tables


def seconds_table(plan: Plan, results: Results) -> Table | None:
    """Return the table of the seconds per epoch of each loss."""
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
        "seconds", "", "Seconds per epoch",
        seconds_finding({short_title(name): value for name, value in ranked}),
        ("Loss", "Seconds"), mark_best([Group("", rows)], by_label=False),
        "the paper: the loss alone, over other faces, on another machine",
    )  # fmt: skip


def paper_ablation(variants: Sequence[Variant]) -> dict[str, Mapping[str, Any]]:
    """Return label → the paper's figures for the same change to its recipe."""
    recipes = [one.settings for one in variants]
    if any(one.loss != "ball" or one.rounds or one.residual for one in recipes):
        return {}
    change = _change(variants)
    if change == "describer":
        of = _by(paper_values()["base_cnn"], "columns")
        return {one.label: of.get(one.label, {}) for one in variants}
    if change is None:
        return {}
    of = _paper_changes()[change]
    return {one.label: of.get(getattr(one.settings, change), {}) for one in variants}


def _change(variants: Sequence[Variant]) -> str | None:
    """Return what changes, from the settings and not from the name of the group.

    It is the setting that differs among the variants, or from the paper's recipe if there is only
    one variant; ``describer`` if only the data differ; None for changes that the paper lacks.
    """
    recipes = [one.settings for one in variants]
    if len(recipes) == 1:
        recipes.append(TrainSettings())
    changed = [
        name for name in _paper_changes() if len({getattr(one, name) for one in recipes}) > 1
    ]
    if len(changed) == 1:
        return changed[0]
    return "describer" if recipes and len(set(recipes)) == 1 else None


def _paper_changes() -> dict[str, dict[Any, Mapping[str, Any]]]:
    """Return setting → value → the paper's figures."""
    paper = paper_values()
    usual = {metric.key: paper["validation"][metric.key][-1] for metric in _METRICS}
    half = paper["half"]
    return {
        "embedding": _by(paper["embedding"], "dim"),
        "batch": _by(paper["batch"], "size"),
        "on_sphere": {True: usual, False: paper["l2"]},
        "average_half": {
            False: usual,
            True: {
                "n_clusters": half["n_clusters"],
                "nmi": round(usual["nmi"] - half["nmi_lower"], 2),
            },
        },
    }


def _by(table: Mapping[str, Any], key: str) -> dict[Any, Mapping[str, Any]]:
    """Return the columns of a table by the values in one of its rows."""
    return {
        state: {name: row[i] for name, row in table.items()} for i, state in enumerate(table[key])
    }


def _sizes(
    variant: Variant, change: str | None, counts: Mapping[tuple[str, str], Counts]
) -> dict[str, tuple[str, float | None]]:
    """Return key → column title and value of the sizes that the paper prints for a change."""
    found = counts.get((variant.group, variant.label))
    if found is None:
        return {}
    values = {name: getattr(found, name) for name in ("dim", "n_in_batch", "n_over_5")}
    # For describers the paper prints the parameters of the CNN, otherwise those of the MLP.
    values["n_parameters"] = variant.parameters if change == "describer" else found.n_parameters
    return {key: (title, values[key]) for key, title in _SIZES.get(change or "", {}).items()}


def _table(
    key: str,
    title: str,
    lines: Mapping[str, list[Record]],
    paper: Mapping[str, Mapping[str, Any]] | None = None,
    sizes: Mapping[str, Mapping[str, tuple[str, float | None]]] | None = None,
    labels: tuple[str, ...] = (),
) -> Table:
    """Return a table with one row per name: sizes, the true number, #Cl, NMI and WCP."""
    paper, sizes = paper or {}, sizes or {}
    titles = {k: title for one in sizes.values() for k, (title, _) in one.items()}
    rows = []
    for name, records in lines.items():
        truth, printed = records[0].n_characters, paper.get(name, {})
        before = (
            Cell(sizes.get(name, {}).get(one, ("", None))[1], paper=printed.get(one), decimals=0)
            for one in titles
        )
        cells = (
            cell_of(
                Spread.of(map(metric.of, records)), metric, n_characters=truth,
                paper=printed.get(metric.key),
            )
            for metric in _METRICS
        )  # fmt: skip
        rows.append(Row(name, (*before, Cell(truth, decimals=0), *cells)))
    values = {name: Spread.of(map(NMI.of, records)) for name, records in lines.items()}
    return Table(
        key, "", title, best_finding(values),
        ("", *titles.values(), "#Ch", *(one.name for one in _METRICS)),
        mark_best([Group("", tuple(rows))], by_label=False), labels=labels,
    )  # fmt: skip
