from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyannote.database.util import load_rttm

from castlist.export.rttm import name_of_word, rttm_lines, rttm_word
from castlist.export.timeline import one_line
from tests.export.casts import AWKWARD, made_timeline


def read(tmp_path, one):
    path = tmp_path / "film.rttm"
    path.write_text("".join(rttm_lines(one)), "utf-8")
    return load_rttm(path)


def test_turns_are_appearances(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    ((uri, annotation),) = read(tmp_path, one).items()
    assert name_of_word(uri) == one.video.removesuffix(".mp4")
    turns = sorted(
        (segment.start, round(segment.end, 6), name_of_word(who))
        for segment, _, who in annotation.itertracks(yield_label=True)
    )
    assert turns == [
        (0.0, 1.2, "Character 1"), (0.0, 4.2, AWKWARD), (10.0, 12.2, AWKWARD),
        (599.8, 661.6, "Character 1"),
    ]  # fmt: skip


def test_ten_fields_a_line(tmp_path):
    lines = list(rttm_lines(made_timeline(tmp_path / "film.cast", video="film.mp4")))
    assert lines[0] == "SPEAKER film 1 0.000 1.200 <NA> <NA> Character%201 <NA> <NA>\n"
    assert all(len(line.split()) == 10 for line in lines)


@pytest.mark.parametrize("name", ["None", "null", "NA", "NaN", "<NA>", "N/A", "#N/A", "nan"])
def test_names_that_readers_take_for_nothing(tmp_path, name):
    path = tmp_path / "film.rttm"
    path.write_text(f"SPEAKER {rttm_word(name)} 1 0 1 <NA> <NA> {rttm_word(name)} <NA> <NA>\n")
    ((uri, annotation),) = load_rttm(path).items()
    assert [name_of_word(who) for who in annotation.labels()] == [name]
    assert name_of_word(uri) == name


@given(st.text(min_size=1).map(one_line).filter(bool))
def test_a_name_is_one_word_and_comes_back(name):
    word = rttm_word(name)
    assert word.split() == [word]
    assert name_of_word(word) == name
