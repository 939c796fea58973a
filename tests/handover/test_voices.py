from __future__ import annotations

from html import unescape

import pytest
import webvtt

from castlist import InputError
from castlist.handover.voices import match_voices, named_subtitles, read_rttm
from tests.export.casts import made_cast

RTTM = """\
SPEAKER film 1 0.00 3.00 <NA> <NA> spk_b <NA> <NA>
SPEAKER film 1 4.00 4.00 <NA> <NA> spk_a <NA> <NA>
SPEAKER film 1 20.00 5.00 <NA> <NA> narrator <NA> <NA>
"""


@pytest.fixture
def cast(tmp_path):
    # Anna is seen from 0 to 10 s, Ben from 0 to 3 s.
    cast = made_cast(tmp_path / "f.cast", spans=[(0, 9.8, 0), (0, 2.8, 1)], duration=30)
    first, second = cast.cast.characters
    cast.name(first.number, "Anna")
    cast.name(second.number, "Ben")
    (tmp_path / "talk.rttm").write_text(RTTM)
    return cast


def test_speakers_are_matched_one_to_one_by_shared_time(cast, tmp_path):
    voices = match_voices(cast, read_rttm(tmp_path / "talk.rttm"))
    found = {one.speaker: one for one in voices}
    # Anna is seen while both speak; Ben only fits spk_b, so that she is left for spk_a.
    assert (found["spk_a"].label, found["spk_b"].label) == ("Anna", "Ben")
    assert found["spk_a"].share == found["spk_b"].share == pytest.approx(1)
    assert found["spk_b"].second == pytest.approx(1)
    assert found["narrator"].character is None
    assert found["narrator"].seconds == pytest.approx(5)
    assert [one.speaker for one in voices] == ["narrator", "spk_a", "spk_b"]


def test_subtitles_get_names(cast, tmp_path):
    speech = read_rttm(tmp_path / "talk.rttm")
    voices = match_voices(cast, speech)
    (tmp_path / "in.srt").write_text(
        "1\n00:00:00,500 --> 00:00:02,000\nHello.\n\n2\n00:00:05,000 --> 00:00:06,000\nHi.\n"
        "There.\n\n3\n00:00:15,000 --> 00:00:16,000\n(music)\n"
    )
    text = named_subtitles(tmp_path / "in.srt", voices, speech["film"])
    assert "\nBen: Hello.\n" in text
    assert "\nAnna: Hi.\nThere.\n" in text
    assert "\n(music)\n" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is it an RTTM file"),
        ("SPEAKER f 1 x 2 <NA> <NA> a <NA>", "line 1: not 'SPEAKER"),
        ("SPEAKER f 1 -1 2 <NA> <NA> a <NA>", "numbers from 0"),
        ("SPEAKER f 1 nan 2 <NA> <NA> a <NA>", "numbers from 0"),
        (f"SPEAKER f 1 {'1' * 400} 2 <NA> <NA> a <NA>", "numbers from 0 to 1e"),
        ("SPEAKER f 1 1e308 1e308 <NA> <NA> a <NA>", "numbers from 0 to 1e"),
        ("\n".join(f"SPEAKER f 1 0 1 x x {k} x" for k in range(1001)), "more than 1,000 speakers"),
    ],
)
def test_files_that_are_no_rttm(tmp_path, text, message):
    (tmp_path / "x.rttm").write_text(text)
    with pytest.raises(InputError, match=message):
        read_rttm(tmp_path / "x.rttm")
    with pytest.raises(InputError, match=r"y\.rttm: cannot be read \(No such file"):
        read_rttm(tmp_path / "y.rttm")


AWKWARD = "A & B --> <b>C</b>"


def test_names_in_subtitles_are_text(cast, tmp_path):
    cast.name(cast.cast.characters[0].number, AWKWARD)
    speaker = "x-->y<c>&lt;\x1b[31m"  # nobody is seen while this one speaks
    (tmp_path / "talk.rttm").write_text(RTTM.replace("narrator", speaker))
    speech = read_rttm(tmp_path / "talk.rttm")
    voices = match_voices(cast, speech)
    cues = "1\n00:00:05.000 --> 00:00:06.000\nHi.\n\n2\n00:00:21.000 --> 00:00:22.000\nOnce.\n"
    files = {"in.vtt": f"WEBVTT\n\n{cues}", "in.srt": cues.replace(".000", ",000")}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        named = named_subtitles(tmp_path / name, voices, speech["film"])
        (tmp_path / f"out-{name}").write_text(named)
        assert "\x1b" not in named
        assert named.count("-->") == 2  # a second one in a cue begins another for many readers
    read = [cue.raw_text for cue in webvtt.read(tmp_path / "out-in.vtt")]
    assert [unescape(text) for text in read] == [f"{AWKWARD}: Hi.", "x-->y<c>&lt; [31m: Once."]
    assert not any(set("<>") & set(text) for text in read)
    # SRT has no escape, and players take < for the beginning of a tag.
    read = [cue.raw_text for cue in webvtt.from_srt(tmp_path / "out-in.srt")]
    assert read == ["A & B --› ‹b›C‹/b›: Hi.", "x--›y‹c›&lt; [31m: Once."]


@pytest.mark.parametrize(
    ("cue", "message"),
    [
        (f"{'1' * 400}:00:00,000 --> 00:00:01,000", "line 2: the time has too many hours"),
        (f"00:00:00,000 --> {'1' * 5000}:00:01,000", "line 2: the time has too many hours"),
        ("1" * 2**20, "no times such as"),  # not searched from each of its digits
    ],
    ids=["start", "end", "digits"],
)
def test_subtitles_whose_times_are_no_times(cast, tmp_path, cue, message):
    (tmp_path / "in.srt").write_text(f"1\n{cue}\nHello.\n")
    speech = read_rttm(tmp_path / "talk.rttm")
    with pytest.raises(InputError, match=message):
        named_subtitles(tmp_path / "in.srt", match_voices(cast, speech), speech["film"])
