from __future__ import annotations

import base64
import csv
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest

from castlist.research.score.curves import Curve
from castlist.research.study import html_page as module
from castlist.research.study.html_page import (
    about_method,
    markdown_of,
    render_study_page,
    write_csv,
    write_markdown,
    write_study_page,
)
from castlist.research.study.paper import paper_contents
from castlist.research.study.paper_tables import tables_of
from castlist.research.study.plan import METHODS, Method, Plan, Variant
from castlist.research.study.plan import Test as Data
from castlist.research.study.results import Record, Results, Shown
from castlist.research.study.statistics import Statistics
from castlist.research.training.train_settings import TrainSettings
from tests.pages import Page

JPEG = b"\xff\xd8 a face \xff\xd9"
NASTY = '<script>alert("x")</script> & $co_{'


def made(name="T", column="v1", method="neighbours"):
    methods = (METHODS["triplet"], METHODS["ball"], replace(METHODS["neighbours"], name=method))
    data = Data(name, (), (), {"all": "*"}, gallery=(column,))
    plan = Plan(f"Study of {name}", (3, 4), (), (), (data,), methods)
    records = [
        Record(name, one, each.name, seed, "own", 5, 6 + seed, 0.6 + seed / 20 + i / 10, 0.9)
        for one in (column, "v2", "all")
        for i, each in enumerate(methods)
        for seed in (3, 4)
    ]
    ks = np.arange(40, 0, -1)
    line = (Curve(ks, np.linspace(0.2, 0.9, 40), np.linspace(1, 0.3, 40)), 9)
    counts = ((column, 40), ("v2", 50), ("all", 90))
    results = Results(
        records,
        {name: [Statistics(one, 5, 4, 1, n, n - 1, 1) for one, n in counts]},
        {(name, column): {each.name: line for each in methods}},
        [Shown(name, column, method, "video 1", [["b1", "b2"], [f"a{i}" for i in range(9)]])],
        {"ball": 1.0},
        {name: ([50, 30, 9, 1], [False, False, False, True])},
    )  # fmt: skip
    return plan, results


def rendered(*made_of, pictures=lambda *_: JPEG) -> Page:
    return Page(render_study_page(*made_of, pictures))


def test_the_page_is_whole_and_loads_nothing(tmp_path):
    plan, results = made()
    write_study_page(tmp_path / "index.html", plan, results, lambda *_: JPEG)
    text = (tmp_path / "index.html").read_text("utf-8")
    page = Page(text)
    assert [one.name for one in tmp_path.iterdir()] == ["index.html"]
    assert page.find("title") == [({}, "Study of T")]
    assert not page.find("script")
    assert not page.find("link")
    assert all(attrs["src"].startswith("data:image/") for attrs, _ in page.find("img"))
    assert all(attrs["href"].startswith("#") for attrs, _ in page.find("a"))
    assert "url(" not in page.find("style")[0][1]
    assert "@import" not in text
    assert not re.search(r"\b(?:src|href)\s*=\s*['\"]?(?:https?:)?//", text)
    (policy,) = (a["content"] for a, _ in page.find("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; img-src data:")


def test_the_same_study_is_the_same_page():
    assert rendered(*made()).elements == rendered(*made()).elements


def test_the_contents_lead_to_what_is_there():
    page = rendered(*made())
    ids = [attrs["id"] for _, attrs, _ in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"][1:] for attrs, _ in page.find("a")]
    assert set(links) <= set(ids)
    assert {"data", "test1", "test1-summary", "test1-test", "test1-skew", "test1-curves",
            "test1-gallery", "seconds"} <= set(links)  # fmt: skip


def test_the_data_and_the_seeds_are_told():
    page = rendered(*made())
    told = dict(zip((t for _, t in page.find("dt")), (t for _, t in page.find("dd")), strict=True))
    assert told["T"] == "2 videos, 5 characters, 90 tracks; combined: all"
    assert told["Seeds"].startswith("3, 4; figures are means over seeds")


def test_a_cell_shows_mean_spread_and_best():
    page = rendered(*made())
    best = [text for attrs, text in page.find("td", class_="best")]
    assert "97.5 ±3.5" in best  # NMI of 95 and 100 %
    assert "±" in page.find("p", class_="note")[0][1]


def test_names_are_escaped():
    plan, results = made(name=NASTY, column=NASTY + "1", method=NASTY)
    page = rendered(plan, results)
    assert not page.find("script")
    assert page.find("title")[0][1] == f"Study of {NASTY}"
    assert NASTY in [text for _, text in page.find("h2")]
    assert NASTY + "1" in [text for _, text in page.find("th", scope="col")]
    assert NASTY in [text for _, text in page.find("th", scope="row")]


def test_curves_and_skew_are_drawn_into_the_page():
    page = rendered(*made())
    drawn = [a for a, _ in page.find("img") if a["src"].startswith("data:image/svg+xml;base64,")]
    assert len(drawn) == 2
    for attrs in drawn:
        assert attrs["loading"] == "lazy"
        root = ElementTree.fromstring(base64.b64decode(attrs["src"].partition(",")[2]))
        assert root.tag.endswith("svg")
    text = " ".join(text for _, text in page.find("p", class_="shows"))
    assert "4 identities, of which 1 is a background character" in text


def test_the_gallery_shows_large_clusters_first_with_six_faces():
    asked = []

    def pictures(test, video, track):
        asked.append((test, video, track))
        return JPEG if track != "a0" else None

    page = rendered(*made(), pictures=pictures)
    assert [text for _, text in page.find("p") if re.match(r"\d+ track", text)] == [
        "9 tracks",
        "2 tracks, small",
    ]
    faces = [a for a, _ in page.find("img") if a["src"].startswith("data:image/jpeg")]
    assert len(faces) == 6 + 2
    assert base64.b64decode(faces[0]["src"].partition(",")[2]) == JPEG
    assert asked[:2] == [("T", "video 1", "a0"), ("T", "video 1", "a1")]
    assert asked[-1] == ("T", "video 1", "b2")
    assert len(asked) == 7 + 2


def test_the_gallery_says_how_many_clusters_there_are():
    (text,) = (text for _, text in rendered(*made()).find("h4"))
    assert text == "v1, Balls with neighbours (ours): 9 clusters, the 2 largest of them"


def test_a_cluster_without_pictures_says_so():
    page = rendered(*made(), pictures=lambda *_: None)
    assert [text for _, text in page.find("span", class_="nothing")] == ["no picture"] * 2


def test_many_pictures_leave_room(monkeypatch):
    monkeypatch.setattr(module, "PICTURE_BYTES", 1)
    page = rendered(*made())
    faces = [a for a, _ in page.find("img") if a["src"].startswith("data:image/jpeg")]
    assert len(faces) == 6 + 1


def test_an_empty_study_is_a_page_too():
    plan, _ = made()
    page = rendered(plan, Results([]))
    assert not page.find("img")
    assert [text for _, text in page.find("h2")] == [
        "Data and methods",
        "Tables and figures of the paper",
        "T",
    ]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (METHODS["base"], "no training, τ from validation"),
        (Method("b", rounds=1), "no training, 1 round of neighbour averaging, τ from validation"),
        (METHODS["ball"], "ball loss, MLP 256–128–64–64, 150 epochs, τ = 4b, also fine-tuned"),
    ],
)
def test_methods_in_short(method, words):
    assert about_method(method) == words


# The paper's tables and figures


def whole_study():
    """Results of every kind, on two of the paper's episodes."""
    names = ("base", "contrastive", "triplet", "prototypical", "ball")
    methods = tuple(METHODS[name] for name in names)
    columns = ("BBT S1E1", "BBT S1E2", "BUFFY S5E1", "BUFFY S5E3")
    variants = [
        Variant("D", "32", replace(TrainSettings(), embedding=32), (), ()),
        Variant("batch size", "500", replace(TrainSettings(), batch=500), (), ()),
        Variant("CNN", "SFace", TrainSettings(), (), ()),
    ]
    data = Data("Episodes", (), (), paper=True, gallery=columns)
    plan = Plan("Study", (0,), (), (), (data,), methods, tuple(variants))
    records = [
        Record("Episodes", column, name, 0, how, 6, 7, 0.8, 0.9)
        for column in columns
        for name in names
        for how in ("own", "train", "kmeans", "hac", "xmeans", "gmeans", "finetuned")
    ]
    records += [
        Record("validation", "all of it", name, 0, how, 66, 60, 0.7, 0.9)
        for name, how in (("one cluster", "one"), ("N clusters", "each"), ("base", "hac"))
    ]
    records += [
        Record("ablation", one.group, one.label, 0, "own", 66, 60, 0.7, 0.9) for one in variants
    ]
    line = (Curve(np.arange(9, 0, -1), np.linspace(0, 1, 9), np.linspace(0, 1, 9)), 5)
    results = Results(
        records,
        curves={("Episodes", column): {"ball": line} for column in columns},
        shown=[Shown("Episodes", column, "ball", "bbt", [["1"]]) for column in columns],
        skew={"Episodes": ([3, 1], [False, True])},
        train_skew=[5, 2],
    )
    return plan, results


def test_a_whole_study_has_every_table_and_figure_of_the_paper():
    page = rendered(*whole_study())
    ids = {attrs["id"] for tag in ("h2", "h3") for attrs, _ in page.find(tag) if "id" in attrs}
    lines = {text: attrs for attrs, text in page.find("th", scope="row")}
    text = " ".join(text for _, text in page.find("td"))
    assert {one.name for one in paper_contents()} <= set(lines)
    assert "not in this study" not in text
    assert text.count("illustration without data") == 3
    links = {attrs["href"][1:] for attrs, _ in page.find("a")}
    assert links <= ids
    assert {"validation-extremes", "train-skew", "test1-curves", "test1-gallery"} <= links


def test_what_a_study_lacks_is_marked():
    text = [text for _, text in rendered(*made()).find("td")]
    assert text.count("not in this study") >= 5


# Markdown and CSV

MARKUP = 'a|b, "c" <d>\n*e*'


def tables_and_plan(paper=False):
    plan = Plan(
        "A | study", (0, 1), (), (), (Data("T", (), (), paper=paper),),
        (METHODS["triplet"], METHODS["ball"]),
    )  # fmt: skip
    records = [
        Record("T", column, method, seed, "own", 8, n, nmi + seed / 50, 1 / 3)
        for column in ("BBT S1E1", MARKUP)
        for method, n, nmi in (("triplet", 9, 0.6), ("ball", 8, 0.8))
        for seed in (0, 1)
    ]
    return plan, Results(records)


def test_csv_holds_every_record(tmp_path):
    _, results = tables_and_plan()
    write_csv(tmp_path / "records.csv", results)
    with (tmp_path / "records.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["column"] for row in rows] == [one.column for one in results.records]
    frame = pandas.read_csv(tmp_path / "records.csv")
    assert [Record(**row) for row in frame.to_dict("records")] == results.records


def test_csv_of_nothing_has_a_header(tmp_path):
    write_csv(tmp_path / "records.csv", Results([]))
    assert (tmp_path / "records.csv").read_text().startswith("test,column,method,seed,how,")


def cells(line):
    assert line.startswith("| ")
    assert line.endswith(" |")
    return [one.strip() for one in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_is_well_formed(tmp_path):
    plan, results = tables_and_plan(paper=True)
    tables = tables_of(plan, results)
    write_markdown(tmp_path / "tables.md", plan.title, tables)
    text = (tmp_path / "tables.md").read_text("utf-8")
    assert text.startswith("# A \\| study\n\n## ")
    assert text.count("\n## ") == len(tables)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        lines = [cells(line) for line in block.splitlines()]
        assert len({len(line) for line in lines}) == 1
        assert all(re.fullmatch("---:?", one) for one in lines[1])


def test_markdown_has_the_best_in_bold_and_the_paper_in_parentheses():
    plan, results = tables_and_plan(paper=True)
    found = next(one for one in tables_of(plan, results) if one.key == "test1-test")
    lines = [cells(one) for one in markdown_of(found).splitlines() if one.startswith("|")]
    assert lines[0][1:] == ["", "BBT S1E1", r'a\|b, "c" \<d> \*e\*']
    assert lines[-2][:3] == ["", "NMI", "**81.0 ±1.4** (95.8)"]
    assert lines[-2][3] == "**81.0 ±1.4**"
    assert lines[-5][2] == "61.0 ±1.4 (88.1)"
    assert "In parentheses, the paper: other faces and another CNN." in markdown_of(found)


def test_markdown_speaks_of_the_paper_only_where_its_figures_stand():
    plan, results = tables_and_plan()
    assert not any("In parentheses" in markdown_of(one) for one in tables_of(plan, results))
