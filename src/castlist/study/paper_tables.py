"""The tables of a study, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from castlist.learn.train_settings import TrainSettings
from castlist.study.findings import (
    Entry,
    best_finding,
    change_finding,
    count_finding,
    seconds_finding,
    summary_finding,
    variants_finding,
    wins_finding,
)
from castlist.study.paper import paper_values
from castlist.study.plan import Method, Plan, Variant
from castlist.study.results import Record, Results, Spread
from castlist.study.tables import (
    COUNT_ERROR,
    N_CLUSTERS,
    NMI,
    WCP,
    Cell,
    Group,
    Metric,
    Row,
    Sheet,
    Table,
    by_method,
    cell_of,
    characters_group,
    mark_best,
    method_title,
    paper_figures,
    row_of,
    short_title,
    statistics_group,
    table_of,
)

#: Labels of the ways of clustering.
_HOW = {"kmeans": "K-means", "hac": "Linkage", "xmeans": "X-means", "gmeans": "G-means"}
_RATIO = Metric("#Cl / #Ch", "", lambda record: record.n_clusters / record.n_characters, "low")
_WINS = {
    "NMI": "Highest NMI",
    "WCP": "highest WCP",
    "#Cl": "nearest to the true number of characters",
}


def tables_of(plan: Plan, results: Results) -> list[Table]:
    """Return every table that has records.

    First, for each test, the summary and the tables of the paper's test set and supplement; then
    validation, the ablations and the seconds per epoch.
    """
    tables: list[Table | None] = []
    for i, test in enumerate(plan.tests, 1):
        sheet = Sheet(plan, test, results)
        tables += [make(sheet, f"test{i}") for make in _TEST_TABLES]
    tables.append(validation_table(results))
    tables += ablation_tables(plan, results)
    tables.append(seconds_table(plan, results))
    return [table for table in tables if table is not None]


def _summary(sheet: Sheet, key: str) -> Table | None:
    metrics = (NMI, WCP, COUNT_ERROR)
    lines = []
    for how in ("own", "finetuned"):
        for method in sheet.methods(how):
            means = [sheet.mean(method, how, metric) for metric in metrics]
            nmi, _, error = means
            if nmi is None or error is None:
                continue
            cells = tuple(
                cell_of(mean, metric, paper=sheet.paper_mean(method, how, metric))
                for mean, metric in zip(means, metrics, strict=True)
            )
            title = method_title(method.name, how)
            rival = how == "own" and method.key not in ("", "base")
            in_paper = rival and paper_figures(method.key, how) is not None
            name, is_ball = short_title(method.name), method.key == "ball"
            entry = Entry(name, nmi, error, in_paper, is_ball, how == "finetuned")
            lines.append((entry, Row(title, cells)))
    if not lines:
        return None
    lines.sort(key=lambda line: -line[0].nmi.mean)
    n = len(sheet.videos)
    title = "all methods, best first" if n == 1 else f"means over {n} videos"
    return Table(
        f"{key}-summary",
        sheet.test.name,
        f"{sheet.test.name}: {title}",
        summary_finding([entry for entry, _ in lines], n, sheet.test.paper),
        ("Method", *(metric.name for metric in metrics)),
        mark_best([Group("", tuple(row for _, row in lines))], by_label=False),
    )


def _test_table(sheet: Sheet, key: str) -> Table | None:
    methods = [one for one in sheet.methods("own") if not one.is_base]
    if not methods:
        return None
    groups = by_method(sheet, [(one, "own") for one in methods])
    title = "every video, and videos together" if sheet.test.combined else "every video"
    title = "clusters, NMI and WCP" if len(sheet.columns) == 1 else title
    named = {short_title(m.name): group for m, group in zip(methods, groups, strict=True)}
    return table_of(
        sheet, f"{key}-test", title,
        wins_finding(named, _WINS, len(sheet.columns)), (statistics_group(sheet), *groups),
    )  # fmt: skip


def _finetuned(sheet: Sheet, key: str) -> Table | None:
    methods = sheet.methods("finetuned")
    if not methods:
        return None
    pairs = {
        short_title(one.name): (sheet.mean(one, "own"), sheet.mean(one, "finetuned"))
        for one in methods
    }
    own = {one.name for one in sheet.methods("own")}
    which = [(one, how) for one in methods for how in ("own", "finetuned")
             if how == "finetuned" or one.name in own]  # fmt: skip
    return table_of(
        sheet, f"{key}-finetuned", "before and after fine-tuning on the test tracks",
        change_finding("Fine-tuning", pairs), (characters_group(sheet), *by_method(sheet, which)),
    )  # fmt: skip


def _known_k(sheet: Sheet, key: str) -> Table | None:
    methods = sheet.methods("kmeans", "hac")
    if not methods:
        return None
    groups = []
    for method in methods:
        rows = [
            row_of(sheet, method, how, metric, f"{_HOW[how]} {metric.name}")
            for how in ("kmeans", "hac")
            if method in sheet.methods(how)
            for metric in (NMI, WCP)
        ]
        groups.append(Group(method_title(method.name), tuple(rows)))
    pairs = {
        short_title(one.name): (sheet.mean(one, "kmeans"), sheet.mean(one, "hac"))
        for one in methods
    }
    return table_of(
        sheet, f"{key}-known-k", "number of characters given",
        change_finding("Complete linkage instead of K-means", pairs),
        (characters_group(sheet), *mark_best(groups)),
    )  # fmt: skip


def _variants(sheet: Sheet, key: str) -> Table | None:
    which = [(one, how) for how in ("xmeans", "gmeans") for one in sheet.methods(how)]
    if not which:
        return None

    def title(method: Method, how: str) -> str:
        return f"{_HOW[how]} on {method_title(method.name)}"

    methods = {method.name: method for method, _ in which}.values()
    own = {short_title(one.name): sheet.mean(one, "own") for one in methods}
    variants = {
        short_title(one.name): {
            _HOW[how]: mean for how in ("xmeans", "gmeans") if (mean := sheet.mean(one, how))
        }
        for one in methods
    }
    finding = variants_finding({name: mean for name, mean in own.items() if mean}, variants)
    return table_of(
        sheet, f"{key}-kmeans-variants", "variants of K-means that estimate the number of clusters",
        finding,
        (characters_group(sheet), *by_method(sheet, which, title)),
    )  # fmt: skip


def _base(sheet: Sheet, key: str) -> Table | None:
    methods = [one for one in sheet.methods("own") if one.is_base]
    if not methods:
        return None
    counted = {}
    for one in methods:
        ratio, nmi = sheet.mean(one, "own", _RATIO), sheet.mean(one, "own")
        if ratio is not None and nmi is not None:
            counted[short_title(one.name)] = (ratio, nmi)
    return table_of(
        sheet, f"{key}-base", "the base features, τ from validation",
        count_finding(counted),
        (characters_group(sheet), *by_method(sheet, [(one, "own") for one in methods])),
    )  # fmt: skip


def _train_threshold(sheet: Sheet, key: str) -> Table | None:
    methods = sheet.methods("train")
    if not methods:
        return None
    groups = []
    for method in methods:
        rows = [
            row_of(sheet, method, how, metric, f"{metric.name}, {source}")
            for how, source in (
                ("train", "τ from training"),
                ("own", "τ = 4b" if method.own_threshold else "τ from validation"),
            )
            for metric in (N_CLUSTERS, NMI)
        ]
        groups.append(Group(method_title(method.name), tuple(rows)))
    pairs = {
        short_title(one.name): (sheet.mean(one, "own"), sheet.mean(one, "train")) for one in methods
    }
    return table_of(
        sheet, f"{key}-train-threshold", "τ chosen on the training set or on validation",
        change_finding("τ from the training set", pairs),
        (characters_group(sheet), *mark_best(groups)),
    )  # fmt: skip


_TEST_TABLES: tuple[Callable[[Sheet, str], Table | None], ...] = (
    _summary, _test_table, _finetuned, _known_k, _variants, _base, _train_threshold,
)  # fmt: skip


_METRICS = (N_CLUSTERS, NMI, WCP)
_KNOWN = {"kmeans": ", K-means, K known", "hac": ", K known", "train": ", τ from training"}


def validation_table(results: Results) -> Table | None:
    """Return the table of all methods on validation."""
    lines: dict[str, list[Record]] = {}
    for one in results.pick(test="validation"):
        title = method_title(one.method, one.how) + _KNOWN.get(one.how, "")
        lines.setdefault(title, []).append(one)
    return _table("validation", "Validation", lines, {}) if lines else None


def ablation_tables(plan: Plan, results: Results) -> list[Table]:
    """Return one table per ablation, in the plan's order."""
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
            paper = paper_ablation(variants) if compare else {}
            key = f"ablation{len(tables) + 1}"
            tables.append(_table(key, f"Ablation on validation: {column}", known, paper))
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
    """Return label → the paper's figures for the same change to its recipe.

    The change is found from the settings, not from the name of the group: the setting that differs
    among the variants, or from the paper's recipe if there is only one variant.
    """
    recipes = [one.settings for one in variants]
    if any(one.loss != "ball" or one.rounds or one.residual for one in recipes):
        return {}
    if len(recipes) == 1:
        recipes = [*recipes, TrainSettings()]
    changes = _paper_changes()
    changed = [way for way in changes if len({getattr(one, way) for one in recipes}) > 1]
    if len(changed) == 1:
        of = changes[changed[0]]
        return {one.label: of.get(getattr(one.settings, changed[0]), {}) for one in variants}
    if not changed:  # only the data differ: the labels name describers
        of = _by(paper_values()["base_cnn"], "columns")
        return {one.label: of.get(one.label, {}) for one in variants}
    return {}


def _paper_changes() -> dict[str, dict[Any, Mapping[str, Any]]]:
    """Return setting → value → the paper's figures."""
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
