"""The tables of a study, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable

from castlist.study.ablation_tables import ablation_tables, seconds_table, validation_table
from castlist.study.findings import (
    Entry,
    change_finding,
    count_finding,
    summary_finding,
    variants_finding,
    wins_finding,
)
from castlist.study.layout import (
    by_method,
    characters_group,
    row_of,
    statistics_group,
    table_of,
)
from castlist.study.methods import Method
from castlist.study.plan import Plan
from castlist.study.results import Results
from castlist.study.sheet import Sheet, paper_place
from castlist.study.tables import (
    COUNT_ERROR,
    N_CLUSTERS,
    NMI,
    WCP,
    Group,
    Metric,
    Row,
    Table,
    cell_of,
    mark_best,
    method_title,
    short_title,
)

#: How a column's number of clusters was arrived at, in print.
_HOW = {"kmeans": "K-means", "hac": "Linkage", "xmeans": "X-means", "gmeans": "G-means"}
_RATIO = Metric("#Cl / #Ch", "", lambda record: record.n_clusters / record.n_characters, "low")
_WINS = {
    "NMI": "Highest NMI",
    "WCP": "highest WCP",
    "#Cl": "nearest to the true number of characters",
}


def tables_of(plan: Plan, results: Results) -> list[Table]:
    """Return every table that there are records for.

    For each test the summary, then the paper's tables of its test set and its supplement; then
    validation and ablations, and what an epoch of each loss costs.
    """
    tables: list[Table | None] = []
    for i, test in enumerate(plan.tests, 1):
        sheet = Sheet(plan, test, results)
        tables += [make(sheet, f"test{i}") for make in _OF_A_TEST]
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
            in_paper = rival and paper_place(method.key, how) is not None
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
        sheet, f"{key}-finetuned", "before and after fine-tuning on the tracks themselves",
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
        sheet, f"{key}-known-k", "the true number of characters given",
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
    said = variants_finding({name: mean for name, mean in own.items() if mean}, variants)
    return table_of(
        sheet, f"{key}-kmeans-variants", "variants of K-means that find the number themselves",
        said,
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
        sheet, f"{key}-train-threshold", "where τ is chosen, on the training set or on validation",
        change_finding("τ from the training set", pairs),
        (characters_group(sheet), *mark_best(groups)),
    )  # fmt: skip


_OF_A_TEST: tuple[Callable[[Sheet, str], Table | None], ...] = (
    _summary, _test_table, _finetuned, _known_k, _variants, _base, _train_threshold,
)  # fmt: skip
