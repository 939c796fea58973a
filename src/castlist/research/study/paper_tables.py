"""The tables of a study, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable

from castlist.research.study.findings import (
    Entry,
    change_finding,
    count_finding,
    summary_finding,
    variants_finding,
    wins_finding,
)
from castlist.research.study.plan import Method, Plan
from castlist.research.study.results import Results
from castlist.research.study.tables import (
    COUNT_ERROR,
    N_CLUSTERS,
    NMI,
    WCP,
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
from castlist.research.study.validation_tables import (
    ablation_tables,
    extremes_table,
    seconds_table,
    validation_table,
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
    tables += [extremes_table(plan, results), validation_table(results)]
    tables += ablation_tables(plan, results)
    tables.append(seconds_table(plan, results))
    return [table for table in tables if table is not None]


def columns_table(plan: Plan, results: Results) -> Table:
    """Return the first test with one row per column, narrow enough for a terminal."""
    sheet = Sheet(plan, plan.tests[0], results)
    which = [(one, how) for how in ("own", "finetuned") for one in sheet.methods(how)]
    (characters,) = characters_group(sheet).rows
    groups = []
    for method, how in which:
        rows = [
            Row(
                column,
                (count, *(sheet.cell(column, method, how, one) for one in (N_CLUSTERS, NMI, WCP))),
            )
            for column, count in zip(sheet.columns, characters.cells, strict=True)
        ]
        groups.append(Group(method_title(method.name, how), tuple(rows)))
    header = ("", characters.label, *(one.name for one in (N_CLUSTERS, NMI, WCP)))
    return Table("columns", sheet.test.name, plan.title, "", header, tuple(groups))


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
        "table:test_episodes",
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
        "table:test_episodes", "table:finetuned_episodes",
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
        "table:test_known_K", "table:knownK_full_comparison",
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
        "table:kmeans_variants",
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
        "table:base_representation",
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
        sheet, f"{key}-train-threshold", "threshold τ chosen on the training set or on validation",
        change_finding("τ from the training set", pairs),
        (characters_group(sheet), *mark_best(groups)),
        "table:threshold_on_train",
    )  # fmt: skip


_TEST_TABLES: tuple[Callable[[Sheet, str], Table | None], ...] = (
    _summary, _test_table, _finetuned, _known_k, _variants, _base, _train_threshold,
)  # fmt: skip
