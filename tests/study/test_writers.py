from __future__ import annotations

import csv
import re

import pandas

from castlist.study.methods import METHODS
from castlist.study.paper_tables import tables_of
from castlist.study.plan import Plan
from castlist.study.plan import Test as Data
from castlist.study.results import Record, Results
from castlist.study.writers import markdown_of, write_csv, write_markdown

NASTY = 'a|b, "c" <d>\n*e*'


def made(paper=False):
    plan = Plan(
        "A | study", (0, 1), (), (), (Data("T", (), (), paper=paper),),
        (METHODS["triplet"], METHODS["ball"]),
    )  # fmt: skip
    records = [
        Record("T", column, method, seed, "own", 8, n, nmi + seed / 50, 1 / 3)
        for column in ("BBT S1E1", NASTY)
        for method, n, nmi in (("triplet", 9, 0.6), ("ball", 8, 0.8))
        for seed in (0, 1)
    ]
    return plan, Results(records)


def test_csv_holds_every_record(tmp_path):
    _, results = made()
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
    plan, results = made(paper=True)
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
    plan, results = made(paper=True)
    found = next(one for one in tables_of(plan, results) if one.key == "test1-test")
    lines = [cells(one) for one in markdown_of(found).splitlines() if one.startswith("|")]
    assert lines[0][1:] == ["", "BBT S1E1", r'a\|b, "c" \<d> \*e\*']
    assert lines[-2][:3] == ["", "NMI", "**81.0 ±1.4** (95.8)"]
    assert lines[-2][3] == "**81.0 ±1.4**"
    assert lines[-5][2] == "61.0 ±1.4 (88.1)"
    assert "In parentheses, the paper: other faces and another CNN." in markdown_of(found)


def test_markdown_speaks_of_the_paper_only_where_its_figures_stand():
    plan, results = made()
    assert not any("In parentheses" in markdown_of(one) for one in tables_of(plan, results))
