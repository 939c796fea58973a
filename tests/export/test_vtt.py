from __future__ import annotations

import io
from html import unescape

import webvtt
from hypothesis import given
from hypothesis import strategies as st

from castlist.cast.cast import Appearance, Character
from castlist.export.timeline import Person, Timeline, one_line
from castlist.export.vtt import vtt_lines
from tests.export.casts import AWKWARD, made_timeline, nobody


def read(one):
    return webvtt.from_buffer(io.StringIO("".join(vtt_lines(one))))


def test_a_cue_for_every_appearance(tmp_path):
    cues = read(made_timeline(tmp_path / "film.cast"))
    assert [(cue.start, cue.end, unescape(cue.raw_text)) for cue in cues] == [
        ("00:00:00.000", "00:00:01.200", "Character 1"),
        ("00:00:00.000", "00:00:04.200", AWKWARD),
        ("00:00:10.000", "00:00:12.200", AWKWARD),
        ("00:09:59.800", "00:11:01.600", "Character 1"),
    ]


@given(
    st.text(min_size=1).map(one_line).filter(bool)
    | st.sampled_from(["00:00:01.000 --> 00:00:02.000", "NOTE", "STYLE", "WEBVTT", "<v a>&amp;"])
)
def test_any_name_is_the_text_of_a_cue(name):
    seen = Appearance(359_999.9996, 360_000.0, 1)
    person = Person(Character(1, name, False, None, 1.0, 1.0), name, None, (seen,))
    one = Timeline("", None, None, 1.0, None, None, None, (person,))
    lines = "".join(vtt_lines(one)).split("\n")
    assert lines[0] == "WEBVTT"
    assert lines[2] == "100:00:00.000 --> 100:00:00.001"
    assert unescape(lines[3]) == name
    assert "-->" not in lines[3]
    assert not set("<>") & set(lines[3])
    assert lines[4:] == [""]


def test_nobody(tmp_path):
    assert len(read(nobody(tmp_path / "film.cast"))) == 0
