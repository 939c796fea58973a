from __future__ import annotations

import re

import numpy as np
import pytest

from castlist.research.study.paper import COLUMNS, paper_contents, paper_values

PAPER = paper_values()
EPISODES, BBT, BUFFY = slice(0, 12), slice(0, 6), slice(6, 12)
METRICS = {"#Cl": "n_clusters", "NMI": "nmi", "WCP": "wcp"}

#: Table → the first words of a heading inside it → where those rows are in paper.toml.
HEADINGS = {
    "test_episodes": {
        "CrossEntropy": "test.cross-entropy",
        "Logistic": "test.ldml",
        "Contrastive": "test.contrastive",
        "Triplet": "test.triplet",
        "Prototypical": "test.prototypical",
        "Ball Cluster Learning (Ours) + Fine-tune": "finetuned.ball",
        "Ball Cluster Learning (Ours)": "test.ball",
    },
    "finetuned_episodes": {
        "Pre-trained Triplet": "finetuned.triplet",
        "Pre-trained Prototypical": "finetuned.prototypical",
        "Pre-trained Ball": "finetuned.ball",
    },
    "base_representation": {"Base CNN": "base"},
    "kmeans_variants": {
        "X-Means on Base": "xmeans.base",
        "X-Means on features": "xmeans.ball",
        "G-Means on Base": "gmeans.base",
        "G-Means on features": "gmeans.ball",
    },
    "knownK_full_comparison": {
        "Triplet": "known_k.triplet",
        "Prototypical": "known_k.prototypical",
        "Ball": "known_k.ball",
    },
    "threshold_on_train": {
        "Contrastive": "train_threshold.contrastive",
        "Triplet": "train_threshold.triplet",
        "Prototypical": "train_threshold.prototypical",
    },
}


def at(place: str):
    found = PAPER
    for key in place.split("."):
        found = found[key]
    return found


def series(place: str = "", values=None):
    """Every list of numbers in the file, with its place."""
    for key, value in (PAPER if values is None else values).items():
        here = f"{place}.{key}" if place else key
        if isinstance(value, dict):
            yield from series(here, value)
        elif isinstance(value, list) and not isinstance(value[0], str | dict):
            yield here, value


# What must hold inside the file


def test_the_columns():
    assert len(COLUMNS) == 15
    assert (COLUMNS[0], COLUMNS[5], COLUMNS[6], COLUMNS[11]) == (
        "BBT S1E1", "BBT S1E6", "BUFFY S5E1", "BUFFY S5E6",
    )  # fmt: skip
    assert COLUMNS[12:] == ("BBT", "BUFFY", "BOTH")


def test_every_row_has_its_length_and_kind():
    lengths = {"train_threshold": 12, "validation": 4, "base_cnn": 2, "embedding": 6, "batch": 4}
    places = dict(series())
    for place, row in places.items():
        assert len(row) == lengths.get(place.split(".")[0], 15), place
        if place.endswith(("nmi", "wcp")):
            assert all(isinstance(value, float) and 0 <= value <= 100 for value in row), place
        else:
            assert all(isinstance(value, int) and value > 0 for value in row), place
    assert len(places) == 6 + 3 * (6 + 3 + 1 + 4) + 1 + 12 + 12 + 3 + 5 + 5 + 6


def test_named_and_background_make_all():
    rows = {name: np.array(row) for name, row in PAPER["statistics"].items()}
    np.testing.assert_array_equal(rows["n_named"] + rows["n_background"], rows["n_characters"])
    np.testing.assert_array_equal(
        rows["n_named_tracks"] + rows["n_background_tracks"], rows["n_tracks"]
    )


@pytest.mark.parametrize("name", ["n_tracks", "n_named_tracks", "n_background_tracks"])
def test_the_tracks_of_the_episodes_make_those_of_the_series(name):
    row = PAPER["statistics"][name]
    assert [sum(row[BBT]), sum(row[BUFFY]), sum(row[EPISODES])] == row[12:]


@pytest.mark.parametrize("method", ["contrastive", "triplet", "prototypical"])
def test_a_threshold_from_the_validation_set_is_the_test_tables(method):
    chosen, test = PAPER["train_threshold"][method]["validation"], PAPER["test"][method]
    assert chosen["n_clusters"] == test["n_clusters"][EPISODES]
    np.testing.assert_allclose(chosen["nmi"], test["nmi"][EPISODES], atol=0.0501)


def test_our_column_of_each_ablation_is_the_same_model():
    ours = [
        (PAPER["validation"], PAPER["validation"]["columns"].index("ball")),
        (PAPER["base_cnn"], PAPER["base_cnn"]["columns"].index("SE-ResNet50-256")),
        (PAPER["embedding"], PAPER["embedding"]["dim"].index(64)),
        (PAPER["batch"], PAPER["batch"]["size"].index(2000)),
    ]
    assert {tuple(table[m][i] for m in METRICS.values()) for table, i in ours} == {
        (69, 77.09, 85.65)
    }


@pytest.mark.parametrize(
    ("place", "mean"),
    [
        ("test.ball", 82.2875),
        ("finetuned.ball", 86.9542),
        ("test.prototypical", 77.4242),
        ("finetuned.prototypical", 86.5750),
        ("test.triplet", 72.6708),
        ("finetuned.triplet", 85.7400),
    ],
)
def test_mean_nmi_over_the_episodes(place, mean):
    assert np.mean(at(place)["nmi"][EPISODES]) == pytest.approx(mean, abs=5e-5)


# What the paper's own LaTeX says


def lines_of(tex: str, label: str) -> list[str]:
    """The rows of one table, bold face and row ends taken off."""
    before = tex.split(rf"\label{{table:{label}}}")[0]
    body = before.rpartition(r"\begin{tabular}")[2].split(r"\end{tabular}")[0]
    body = re.sub(r"\\textbf\{([^}]*)\}", r"\1", body).replace(r"$\#$", "#")
    return [line.strip() for line in body.splitlines()]


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", text)]


def rows_of(tex: str, label: str):
    """Each row of figures: the heading it stands under, its words, its numbers."""
    heading = ""
    for line in lines_of(tex, label):
        if found := re.match(r"\\multicolumn\{1[37]\}\{.*?c\}\{(.*?)(~\\cite.*)?\} \\\\", line):
            heading = found[1]
        elif found := re.match(r"(?:\d+ +& )?((?:KM|HAC|train|val|#|NMI|WCP)[^&]*)&(.*)\\\\", line):
            first, rest = found[1].strip(), found[2]
            if first in ("KM", "HAC"):
                metric, rest = rest.split("&", 1)
                first = f"{first} {metric.strip()}"
            yield heading, first, numbers(rest)


def place_of(label: str, heading: str) -> str:
    for start, place in HEADINGS[label].items():
        if heading.startswith(start):
            return place
    raise AssertionError(f"{label}: {heading}?")


@pytest.mark.parametrize(
    ("label", "count"),
    [
        ("test_episodes", 6 + 6 * 3 + 3),
        ("finetuned_episodes", 1 + 9),
        ("base_representation", 1 + 3),
        ("kmeans_variants", 1 + 12),
    ],
)
def test_tables_of_clusters_nmi_and_wcp(tex, label, count):
    names = dict(
        zip(
            ("#Ch", "#Named Ch", "#Unk Ch", "#T", "#Named T", "#Unk T"),
            PAPER["statistics"].values(),
            strict=True,
        )
    )
    rows = list(rows_of(tex, label))
    assert len(rows) == count
    for heading, first, row in rows:
        ours = names[first] if not heading else at(place_of(label, heading))[METRICS[first]]
        assert ours == row, (heading, first)


def test_table_of_known_k(tex):
    rows = list(rows_of(tex, "knownK_full_comparison"))
    assert len(rows) == 3 * 4
    for heading, first, row in rows:
        algorithm, metric = first.split()
        place = place_of("knownK_full_comparison", heading)
        ours = at(place)[{"KM": "kmeans", "HAC": "hac"}[algorithm]]
        assert ours[METRICS[metric]] == row, (heading, first)


def test_the_short_table_of_known_k_is_the_end_of_the_long_one(tex):
    rows = [line for line in lines_of(tex, "test_known_K") if line.startswith(("BCL", "PRO"))]
    assert len(rows) == 4
    for line in rows:
        method = {"BCL": "ball", "PRO": "prototypical"}[line[:3]]
        ours = PAPER["known_k"][method]["kmeans" if "means" in line else "hac"]
        row = numbers(line)
        assert (ours["nmi"][12:], ours["wcp"][12:]) == (row[::2], row[1::2]), line


def test_table_of_thresholds_from_the_train_set(tex):
    rows = [row for row in rows_of(tex, "threshold_on_train") if row[0]]
    assert len(rows) == 3 * 2
    for heading, first, row in rows:
        ours = at(place_of("threshold_on_train", heading))
        ours = ours[{"train": "train", "val": "validation"}[first]]
        assert (ours["n_clusters"], ours["nmi"]) == (row[::2], row[1::2]), (heading, first)


@pytest.mark.parametrize(
    ("label", "place", "names"),
    [
        ("validation_ball_clustering", "validation", METRICS),
        ("embed_dim", "embedding", {"Dim": "dim", "#P": "n_parameters", **METRICS}),
        (
            "batch_size",
            "batch",
            {"Batch size": "size", "in batch": "n_in_batch", "$>5$ samples": "n_over_5", **METRICS},
        ),
    ],
)
def test_ablation_tables(tex, label, place, names):
    rows = {}
    for line in lines_of(tex, label):
        cells = [cell.strip() for cell in line.removesuffix(r"\\").split("&")]
        values = [cell.replace("K", "000") for cell in cells]
        for i, cell in enumerate(cells[:2]):
            if cell in names and re.fullmatch(r"[\d.]+", values[i + 1]):
                rows[names[cell]] = numbers(" ".join(values[i + 1 :]))
    assert rows == {name: at(place)[name] for name in names.values()}


def test_table_of_base_cnns(tex):
    table = PAPER["base_cnn"]
    lines = [line for line in lines_of(tex, "vgg2face") if "ResNet50" in line]
    assert [line.split("&")[0].strip() for line in lines] == table["columns"]
    for i, line in enumerate(lines):
        dim, millions, *scores = re.findall(r"[\d.]+", line.split("&", 1)[1])
        assert table["dim"][i] == int(dim)
        assert table["n_parameters"][i] == round(1e6 * float(millions))
        assert [table[metric][i] for metric in METRICS.values()] == [float(x) for x in scores]


def test_figures_of_the_text(tex):
    l2, half = PAPER["l2"], PAPER["half"]
    n_characters = PAPER["validation"]["n_characters"]
    assert f"The validation set has {n_characters} ground-truth clusters" in tex
    assert (
        f"Without the $\\ell_2$ normalization, our method creates {l2['n_clusters']} clusters "
        f"with NMI: {l2['nmi']} and WCP: {l2['wcp']}"
    ) in tex
    words = f"with {half['n_clusters']} clusters and a {half['nmi_lower']:.0f}\\% lower NMI"
    assert words in tex
    printed = dict(re.findall(r"(Prototypical|Contrastive|LDML|Triplet|BCL): ([\d.]+)s", tex))
    printed = {name.lower().replace("bcl", "ball"): float(s) for name, s in printed.items()}
    assert PAPER["seconds"] == printed


def plain(caption: str, numbers: dict[str, int]) -> str:
    """A caption without mark-up, references to figures as numbers."""
    caption = re.sub(r"\\ref\{fig:(\w+)\}", lambda found: str(numbers[f"fig:{found[1]}"]), caption)
    caption = re.sub(r"\\(?:emph|textbf)\{([^}]*)\}", r"\1", caption)
    return " ".join(caption.replace("~", " ").replace("$", "").split())


def test_the_list_of_tables_and_figures_is_the_papers(tex):
    numbers, found = {"table": 0, "fig": 0}, {}
    kinds = "(?:table|figure)"
    for body in re.findall(rf"\\begin\{{{kinds}\*?\}}(.*?)\\end\{{{kinds}", tex, re.S):
        label = re.search(r"\\label\{(.*?)\}", body)[1]
        kind = label.partition(":")[0]
        numbers[kind] += 1
        found[label] = (numbers[kind], body.partition(r"\caption{")[2])
    places = {label: number for label, (number, _) in found.items()}
    contents = paper_contents()
    assert {one.label for one in contents} == set(found)
    for one in contents:
        number, caption = found[one.label]
        assert one.name == f"{'Table' if one.label.startswith('table') else 'Figure'} {number}"
        assert plain(caption, places).startswith(one.caption), one.label


def test_k_max_of_the_text(tex):
    sentence = re.search(r"We choose \$K_\{\\max\}\$ to be .*", tex)[0]
    bbt, buffy, combined, both = (int(k) for k in re.findall(r"\b(\d+) for", sentence))
    assert PAPER["xmeans"]["k_max"] == [bbt] * 6 + [buffy] * 6 + [combined] * 2 + [both]
