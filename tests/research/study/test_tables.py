from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from castlist.research.study.paper import COLUMNS, paper_values
from castlist.research.study.paper_tables import tables_of
from castlist.research.study.plan import METHODS, Method, Plan, Variant
from castlist.research.study.plan import Test as Data
from castlist.research.study.results import Counts, Record, Results, Spread
from castlist.research.study.statistics import Statistics
from castlist.research.study.tables import (
    N_CLUSTERS,
    NMI,
    Group,
    Row,
    cell_of,
    mark_best,
    method_title,
    short_title,
)
from castlist.research.training.train_settings import TrainSettings

PAPER = paper_values()
METHOD_NAMES = ("base", "triplet", "prototypical", "ball", "neighbours")


def plan_of(*tests: Data, variants=(), names=METHOD_NAMES, seeds=(0, 1)) -> Plan:
    methods = tuple(METHODS.get(name, Method(name)) for name in names)
    return Plan("A study", seeds, (), (), tests, methods, tuple(variants))


def record(column, method, seed, n_clusters, nmi, *, how="own", n=10, test="T", wcp=0.9) -> Record:
    return Record(test, column, method, seed, how, n, n_clusters, nmi, wcp)


def table(plan, records, key, **more):
    found = {one.key: one for one in tables_of(plan, Results(records, **more))}
    return found[key]


def row(table, title, label=None):
    """The cells of a group's row, or of the row of that name where there are no groups."""
    for group in table.groups:
        for one in group.rows:
            if (group.title, one.label) == ((title, label) if label else ("", title)):
                return one.cells
    raise AssertionError(f"no {title} {label}")


# Cells and what is best


def test_a_cell_says_mean_and_spread():
    cell = cell_of(Spread.of([80.0, 82.0, 84.0]), NMI, paper=77.64)
    assert (cell.text, cell.spread_text, cell.paper_text) == ("82.0", "±2.0", "77.6")
    alone = cell_of(Spread.of([80.0]), NMI)
    assert (alone.text, alone.spread_text, alone.paper_text) == ("80.0", "", "")


def test_a_number_of_clusters_has_a_decimal_only_where_it_is_a_mean():
    assert cell_of(Spread.of([7]), N_CLUSTERS, paper=8).text == "7"
    assert cell_of(Spread.of([7]), N_CLUSTERS, paper=8).paper_text == "8"
    assert cell_of(Spread.of([7, 8]), N_CLUSTERS).text == "7.5"


def marks(*losses):
    rows = (
        Row(str(i), (replace(cell_of(Spread.of([one]), NMI), loss=one),))
        for i, one in enumerate(losses)
    )
    return [one.cells[0].best for one in mark_best([Group("", tuple(rows))], False)[0].rows]


def test_all_that_tie_are_best_and_one_alone_is_not():
    assert marks(1.0, 2.0, 1.0) == [True, False, True]
    assert marks(1.0, 1.0) == [True, True]
    assert marks(1.0) == [False]


def test_what_looks_equal_is_equally_good():
    groups = [
        Group(name, (Row("NMI", (cell_of(Spread.of([value]), NMI),)),))
        for name, value in (("a", 80.04), ("b", 79.96), ("c", 79.94))
    ]
    assert [one.rows[0].cells[0].best for one in mark_best(groups)] == [True, True, False]


def test_the_number_of_clusters_is_best_nearest_to_the_truth():
    groups = [
        Group(name, (Row("#Cl", (cell_of(Spread.of([value]), N_CLUSTERS, n_characters=10),)),))
        for name, value in (("a", 8), ("b", 12), ("c", 30), ("d", 1))
    ]
    assert [one.rows[0].cells[0].best for one in mark_best(groups)] == [True, True, False, False]


def test_titles_are_readable_and_unknown_names_stay():
    assert method_title("neighbours") == "Balls with neighbours (ours)"
    assert method_title("ball", "finetuned").startswith("Ball Cluster Learning")
    assert method_title("ball", "finetuned").endswith("fine-tuned")
    assert method_title("mine_2") == short_title("mine_2") == "mine_2"


# The summary


def summary_records(ball=0.80, prototypical=0.70, spread=0.02):
    return [
        record(column, method, seed, n_clusters, nmi + (2 * seed - 1) * spread + shift)
        for column, shift in (("v1", -0.1), ("v2", 0.1))
        for method, n_clusters, nmi in (("ball", 12, ball), ("prototypical", 15, prototypical))
        for seed in (0, 1)
    ]


def test_the_summary_is_means_over_videos_and_seeds_best_first():
    data = Data("T", (), (), {"all": "*"})
    records = [*summary_records(), record("all", "ball", 0, 500, 0.1)]
    found = table(plan_of(data), records, "test1-summary")
    assert [one.label for one in found.rows] == [
        "Ball Cluster Learning, the paper's recipe",
        "Prototypical",
    ]
    nmi, wcp, error = found.rows[0].cells
    assert nmi.value == pytest.approx(80)  # the combined column is no video
    assert nmi.deviation == pytest.approx(np.std([78, 82], ddof=1))
    assert (wcp.value, error.value) == (pytest.approx(90), pytest.approx(20))
    assert [cell.best for cell in found.rows[0].cells] == [True, True, True]
    assert [cell.best for cell in found.rows[1].cells] == [False, True, False]  # WCP ties


def test_a_seed_that_lacks_a_video_does_not_count():
    records = [*summary_records(), record("v1", "ball", 7, 10, 0.0)]
    found = table(plan_of(Data("T", (), ())), records, "test1-summary")
    assert found.rows[0].cells[0].value == pytest.approx(80)


def test_the_sentence_turns_with_the_figures():
    plan = plan_of(Data("T", (), (), paper=True))
    ahead = table(plan, summary_records(0.80, 0.70), "test1-summary").shows
    assert "Highest mean NMI over 2 videos: Ball Cluster Learning (80.0), 10.0 ahead" in ahead
    assert "As in the paper, Ball Cluster Learning (80.0) is ahead" in ahead
    behind = table(plan, summary_records(0.70, 0.80), "test1-summary").shows
    assert "Highest mean NMI over 2 videos: Prototypical (80.0), 10.0 ahead" in behind
    assert "Unlike in the paper, Ball Cluster Learning (70.0) is behind Prototypical" in behind
    level = table(plan, summary_records(0.75, 0.75), "test1-summary").shows
    assert "Prototypical and Ball Cluster Learning (75.0)" in level
    assert "Unlike in the paper, Ball Cluster Learning (75.0) is level with" in level


def test_a_lead_within_the_spread_is_called_that():
    plan = plan_of(Data("T", (), ()))
    words = "no more than a standard deviation"
    assert words not in table(plan, summary_records(0.80, 0.70), "test1-summary").shows
    assert words in table(plan, summary_records(0.80, 0.79), "test1-summary").shows


def test_the_paper_is_beside_only_where_asked():
    records = summary_records()
    without = table(plan_of(Data("T", (), ())), records, "test1-summary")
    assert not without.has_paper
    assert "in the paper" not in without.shows
    found = table(plan_of(Data("T", (), (), paper=True)), records, "test1-summary")
    nmi, _, error = found.rows[0].cells
    assert nmi.paper == pytest.approx(82.2875)
    truth, ours = PAPER["statistics"]["n_characters"][:12], PAPER["test"]["ball"]["n_clusters"][:12]
    wanted = np.mean([abs(a - b) / b for a, b in zip(ours, truth, strict=True)])
    assert error.paper == pytest.approx(100 * wanted)


def test_fine_tuned_methods_and_the_base_have_rows_of_their_own():
    records = [
        *summary_records(),
        record("v1", "ball", 0, 10, 0.9, how="finetuned"),
        record("v2", "ball", 0, 10, 0.9, how="finetuned"),
        record("v1", "base", 0, 40, 0.5),
        record("v2", "base", 0, 40, 0.5),
    ]
    found = table(plan_of(Data("T", (), (), paper=True)), records, "test1-summary")
    assert [one.label for one in found.rows] == [
        method_title("ball", "finetuned"),
        method_title("ball"),
        method_title("prototypical"),
        method_title("base"),
    ]
    assert found.rows[0].cells[0].paper == pytest.approx(86.9542, abs=1e-4)
    assert "not fine-tuned: Ball Cluster Learning (80.0), 10.0 ahead of Prot" in found.shows
    assert "; fine-tuned: Ball Cluster Learning (90.0). Nearest" in found.shows
    assert "characters: Ball Cluster Learning, fine-tuned (0.0 % off)" in found.shows
    assert found.rows[3].cells[0].paper == pytest.approx(np.mean(PAPER["base"]["nmi"][:12]))


# The tables of a test


def papers_results(hows=("own",), names=METHOD_NAMES):
    """Every method on the paper's columns: NMI by its place in the list, clusters as many more."""
    counts = PAPER["statistics"]
    records = [
        Record("T", column, name, seed, how, n, n + i, 0.5 + i / 20 + seed / 100, 0.9)
        for column, n in zip(COLUMNS, counts["n_characters"], strict=True)
        for i, name in enumerate(names)
        for how in hows
        for seed in (0, 1)
    ]
    rows = [
        Statistics(column, *(row[i] for row in counts.values())) for i, column in enumerate(COLUMNS)
    ]
    return Results(records, {"T": rows})


def papers_plan(**more):
    return plan_of(Data("T", (), (), dict.fromkeys(COLUMNS[12:], "*"), paper=True), **more)


def test_the_test_table_has_the_papers_rows_and_columns():
    found = next(t for t in tables_of(papers_plan(), papers_results()) if t.key == "test1-test")
    assert found.header == ("", *COLUMNS)
    assert [one.label for one in found.groups[0].rows] == list(Statistics.ROWS)
    assert [group.title for group in found.groups[1:]] == [
        method_title(name) for name in ("triplet", "prototypical", "ball", "neighbours")
    ]
    ball = {one.label: one.cells for one in found.groups[3].rows}
    assert list(ball) == ["#Cl", "NMI", "WCP"]
    for label, key in (("#Cl", "n_clusters"), ("NMI", "nmi"), ("WCP", "wcp")):
        assert [cell.paper for cell in ball[label]] == PAPER["test"]["ball"][key]
    assert all(cell.paper is None for one in found.groups[4].rows for cell in one.cells)
    assert all(cell.best for cell in row(found, method_title("neighbours"), "NMI"))
    assert all(cell.best for cell in row(found, method_title("triplet"), "#Cl"))
    assert "Highest NMI: Balls with neighbours in 15 of 15 columns" in found.shows
    assert "number of characters: Triplet in 15 of 15 columns" in found.shows


def test_counts_have_the_papers_beside_them_where_they_differ():
    results = papers_results()
    results.statistics["T"][0] = replace(results.statistics["T"][0], n_characters=9)
    found = next(t for t in tables_of(papers_plan(), results) if t.key == "test1-test")
    assert [cell.paper for cell in row(found, "#Ch")] == [8] + [None] * 14


def test_episodes_are_known_by_the_authors_names_too():
    plan = plan_of(Data("T", (), (), paper=True))
    records = [record(name, "ball", 0, 7, 0.9) for name in ("bbt_s01e02", "other")]
    found = table(plan, records, "test1-test")
    assert [cell.paper for cell in row(found, method_title("ball"), "NMI")] == [87.25, None]


def test_every_table_only_where_there_are_records_for_it():
    plan = papers_plan()
    keys = [one.key for one in tables_of(plan, papers_results())]
    assert keys == ["test1-summary", "test1-test", "test1-base"]
    hows = ("own", "finetuned", "kmeans", "hac", "xmeans", "gmeans", "train")
    assert [one.key for one in tables_of(plan, papers_results(hows))] == [
        "test1-summary", "test1-test", "test1-finetuned", "test1-known-k", "test1-kmeans-variants",
        "test1-base", "test1-train-threshold",
    ]  # fmt: skip
    assert tables_of(plan, Results([])) == []


def test_the_papers_figures_of_the_supplement():
    hows = ("own", "finetuned", "kmeans", "hac", "xmeans", "gmeans", "train")
    found = {one.key: one for one in tables_of(papers_plan(), papers_results(hows))}

    def papers(key, title, label):
        return [cell.paper for cell in row(found[f"test1-{key}"], title, label)]

    ball, base = method_title("ball"), method_title("base")
    assert papers("finetuned", f"{ball}, fine-tuned", "NMI") == PAPER["finetuned"]["ball"]["nmi"]
    assert papers("finetuned", ball, "NMI") == PAPER["test"]["ball"]["nmi"]
    assert papers("known-k", ball, "K-means WCP") == PAPER["known_k"]["ball"]["kmeans"]["wcp"]
    assert papers("known-k", ball, "Linkage NMI") == PAPER["known_k"]["ball"]["hac"]["nmi"]
    assert (
        papers("kmeans-variants", f"X-means on {base}", "#Cl")
        == (PAPER["xmeans"]["base"]["n_clusters"])
    )
    assert papers("kmeans-variants", f"G-means on {ball}", "NMI") == PAPER["gmeans"]["ball"]["nmi"]
    assert papers("base", base, "WCP") == PAPER["base"]["wcp"]
    train = PAPER["train_threshold"]["triplet"]["train"]
    triplet = method_title("triplet")
    assert papers("train-threshold", triplet, "#Cl, τ from training") == (
        train["n_clusters"] + [None] * 3
    )


def changed(how, before, after):
    return [
        one
        for method in ("triplet", "ball")
        for one in (
            record("v1", method, 0, 10, before[method]),
            record("v1", method, 0, 10, after[method], how=how),
        )
    ]


@pytest.mark.parametrize(
    ("how", "key", "what"),
    [
        ("finetuned", "finetuned", "Fine-tuning"),
        ("train", "train-threshold", "τ from the training set"),
    ],
)
def test_the_sentence_of_a_change_turns_with_the_figures(how, key, what):
    plan = plan_of(Data("T", (), ()))
    low, high = {"triplet": 0.6, "ball": 0.7}, {"triplet": 0.65, "ball": 0.9}
    said = table(plan, changed(how, low, high), f"test1-{key}").shows
    assert said.endswith(
        f"{what} raises the mean NMI of Ball Cluster Learning (70.0 to 90.0) "
        "and Triplet (60.0 to 65.0)."
    )
    said = table(plan, changed(how, high, low), f"test1-{key}").shows
    assert f"{what} lowers the mean NMI of Ball Cluster Learning (90.0 to 70.0)" in said
    said = table(plan, changed(how, low, {"triplet": 0.5, "ball": 0.7}), f"test1-{key}").shows
    assert said.endswith(
        f"{what} lowers the mean NMI of Triplet (60.0 to 50.0) "
        "and keeps that of Ball Cluster Learning (70.0)."
    )


def test_the_sentence_of_the_variants_turns_with_the_figures():
    plan = plan_of(Data("T", (), ()))

    def said(own, xmeans, gmeans):
        return table(
            plan,
            [
                record("v1", "ball", 0, 10, own),
                record("v1", "ball", 0, 20, xmeans, how="xmeans"),
                record("v1", "ball", 0, 30, gmeans, how="gmeans"),
            ],
            "test1-kmeans-variants",
        ).shows

    assert said(0.8, 0.5, 0.6).endswith(
        "own τ has the higher mean NMI on Ball Cluster Learning (80.0, G-means 60.0)."
    )
    assert said(0.55, 0.5, 0.6).endswith(
        "own τ is not better on Ball Cluster Learning (55.0, G-means 60.0)."
    )


def test_one_column_is_turned_so_that_a_method_is_a_row():
    counts = {"T": [Statistics("v1", 10, 8, 2, 100, 90, 10)]}
    records = [record("v1", "ball", 0, 9, 0.8), record("v1", "triplet", 0, 14, 0.7)]
    found = table(plan_of(Data("T", (), ())), records, "test1-test", statistics=counts)
    assert found.header == ("Method", "#Cl", "NMI", "WCP")
    assert [one.label for one in found.rows] == ["Triplet", method_title("ball")]
    assert [cell.text for cell in found.rows[1].cells] == ["9", "80.0", "90.0"]
    assert [cell.best for cell in found.rows[1].cells] == [True, True, True]
    assert found.shows.startswith("#Ch 10, #Named Ch 8, #Unk Ch 2, #T 100")


def test_a_method_that_the_plan_does_not_know_is_not_a_base():
    found = table(plan_of(Data("T", (), ())), [record("v1", "else", 0, 9, 0.8)], "test1-test")
    assert found.rows[0].label == "else"


# Ablations and seconds


def variant(group, label, **changes):
    return Variant(group, label, replace(TrainSettings(), **changes), (), ())


def ablated(variants, paper=True):
    plan = plan_of(Data("T", (), (), paper=paper), variants=variants)
    records = [
        Record("ablation", one.group, one.label, seed, "own", 66, 60 + i, 0.7 + i / 10, 0.9)
        for i, one in enumerate(variants)
        for seed in (0, 1)
    ]
    return tables_of(plan, Results(records))


def test_an_ablation_has_the_papers_figures_of_the_same_change():
    found = ablated([
        variant("how long", "short", embedding=32), variant("how long", "odd", embedding=33),
        variant("sphere", "on"), variant("sphere", "off", normalise=False),
        variant("faces", "half a track", average_half=True),
        variant("CNN", "ResNet50"), variant("CNN", "SFace"),
    ])  # fmt: skip
    assert [one.title.split(": ")[1] for one in found] == ["how long", "sphere", "faces", "CNN"]
    papers = {one.label: [cell.paper for cell in one.cells] for t in found for one in t.rows}
    assert papers == {
        "short": [None, 68, 75.48, 85.89],
        "odd": [None] * 4,
        "on": [None, 69, 77.09, 85.65],
        "off": [None, 71, 74.57, 83.07],
        "half a track": [None, 124, 70.09, None],
        "ResNet50": [None, 80, 76.74, 87.67],
        "SFace": [None] * 4,
    }
    assert found[0].shows == "Highest NMI with odd (80.0), lowest with short (70.0)."
    assert [cell.best for cell in found[0].rows[1].cells] == [False, True, True, True]


def test_ablations_of_other_recipes_or_studies_have_no_figures_of_the_paper():
    ours = [variant("size", "32", embedding=32, rounds=2), variant("size", "64", rounds=2)]
    assert not ablated(ours)[0].has_paper
    papers = [variant("size", "32", embedding=32), variant("size", "64")]
    assert ablated(papers)[0].has_paper
    assert not ablated(papers, paper=False)[0].has_paper


def test_seconds_fastest_first():
    results = Results([], seconds={"triplet": 3.0, "ball": 1.5, "neighbours": 2.0})
    (found,) = tables_of(plan_of(), results)
    cells = {one.label: one.cells[0] for one in found.rows}
    assert [one.text for one in cells.values()] == ["1.50", "2.00", "3.00"]
    assert [one.paper for one in cells.values()] == [9.9, None, 50.8]
    assert [one.best for one in cells.values()] == [True, False, False]
    assert found.shows == (
        "Fastest: Ball Cluster Learning (1.50 s per epoch); Triplet takes 2.0 times as long."
    )


def test_validation_is_a_table_of_its_own():
    records = [
        record("", "ball", 0, 69, 0.77, n=66, test="validation"),
        record("", "base", 0, 66, 0.69, n=66, test="validation", how="hac"),
    ]
    found = table(plan_of(Data("T", (), ())), records, "validation")
    assert [one.label for one in found.rows] == [method_title("ball")]


def test_the_extremes_of_clustering_beside_the_papers():
    records = [
        record("", "one cluster", 0, 1, 0.0, n=60, test="validation", how="one", wcp=0.2),
        record("", "N clusters", 0, 900, 0.5, n=60, test="validation", how="each", wcp=1.0),
        record("", "base", 0, 60, 0.7, n=60, test="validation", how="hac"),
        *(record("", "ball", seed, 62, 0.8, n=60, test="validation") for seed in (0, 1)),
    ]
    found = table(plan_of(Data("T", (), (), paper=True)), records, "validation-extremes")
    assert found.labels == ("table:validation_ball_clustering",)
    assert found.header[1:4] == ("One cluster", "N clusters", "Base features, K known")
    assert [one.text for one in row(found, "#Cl")] == ["1", "900", "60", "62.0"]
    assert [one.paper for one in row(found, "NMI")] == PAPER["validation"]["nmi"]
    assert found.shows == (
        "60 characters (the paper: 66). NMI: Ball Cluster Learning 80.0 and "
        "Base features, K known 70.0."
    )


def test_ablations_have_the_papers_sizes():
    variants = [
        variant("D", "64"), variant("D", "32", embedding=32),
        variant("batch", "500", batch=500), variant("batch", "2000"),
        replace(variant("CNN", "ResNet50"), parameters=40_000_000), variant("CNN", "SFace"),
    ]  # fmt: skip
    counts = {(one.group, one.label): Counts(256, 111_104, 219.6, 14.5) for one in variants}
    plan = plan_of(Data("T", (), (), paper=True), variants=variants)
    records = [
        Record("ablation", one.group, one.label, 0, "own", 66, 60, 0.7, 0.9) for one in variants
    ]
    size, batch, cnn = tables_of(plan, Results(records, counts=counts))
    assert size.header[1:3] == ("#P", "#Ch")
    assert (size.rows[0].cells[0].text, size.rows[0].cells[0].paper_text) == ("111,104", "111,000")
    assert batch.header[1:3] == ("#Cl in batch", "#Cl in batch, > 5 samples")
    assert [(one.text, one.paper) for one in batch.rows[0].cells[:2]] == [("220", 220), ("14", 15)]
    assert [(one.text, one.paper_text) for one in cnn.rows[0].cells[:2]] == [
        ("256", "2048"), ("40,000,000", "41,100,000"),
    ]  # fmt: skip
    assert [one.text for one in cnn.rows[1].cells[:2]] == ["256", ""]
    labels = [one.labels for one in (size, batch, cnn)]
    assert labels == [("table:embed_dim",), ("table:batch_size",), ("table:vgg2face",)]
