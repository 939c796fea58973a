"""Names that castlist would take from nobody, in a log and a video that somebody else made."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import webvtt

from castlist.export.timeline import timelines
from castlist.export.write import To, export_cast
from castlist.report.page import report_folder
from tests.export.casts import made_cast

BAD = '=x"\udc80\n\r\0 --> \x1b[31m<script>a\u2028]]>\ufffe|M:z\n\n00:00'


@pytest.fixture
def cast(tmp_path):
    cast = made_cast(tmp_path / "film.cast")
    cast.tracks = replace(cast.tracks, videos=(f"//host/{BAD}.mp4",))
    who = cast.cast.characters[0].number
    cast.state.names[who] = BAD
    cast._cast = None
    return cast


@pytest.mark.parametrize("to", list(To))
def test_every_format_is_whole_all_the_same(cast, tmp_path, to):
    (path,) = export_cast(cast, to, tmp_path / "out")
    text = path.read_text("utf-8")
    (one,) = timelines(cast)
    person = one.people[0]
    assert person.character.name == BAD
    turns = sum(len(who.appearances) for who in one.people)
    assert not set(text) & set("\0\x1b\u2028\ufffe")
    if to == To.CSV:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert len(rows) == len(cast.tracks)
        assert f"'{person.label}" in {row["character"] for row in rows}
    elif to == To.TRUTH:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert len(rows) == cast.tracks.n_faces
        assert f"'{person.label}" in {row["who"] for row in rows}
    elif to == To.JSON:
        assert person.label in {who["label"] for who in json.loads(text)["characters"]}
    elif to == To.OTIO:
        opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14
        (clip,) = opentimelineio.adapters.read_from_string(text, "otio_json").find_clips()
        assert len(clip.markers) == turns
        assert "/" not in clip.media_reference.target_url
    elif to == To.EDL:
        lines = text.splitlines()
        assert len(lines) == 3 + 3 * turns
        assert sum(line.count("|M:") for line in lines) == turns
    elif to == To.CVAT:
        root = ET.fromstring(text)
        assert len(root.findall("track")) == len(cast.tracks)
        assert root.find("meta/task/name").text == one.video
    elif to == To.MOT:
        assert all(line.count(",") == 9 for line in text.splitlines())
    elif to == To.RTTM:
        assert [len(line.split()) for line in text.splitlines()] == [10] * turns
    elif to == To.FCPXML:
        root = ET.fromstring(text)
        assert len(root.findall("library/event/asset-clip/keyword")) == turns
    elif to == To.PREMIERE:
        assert len(ET.fromstring(text).findall("sequence/marker")) == turns
    elif to == To.NFO:
        assert [who.text for who in ET.fromstring(text).findall("actor/name")] == [person.label]
    elif to == To.XMP:
        assert len(ET.fromstring(text).findall(".//{*}markers/{*}Seq/{*}li")) == turns
    elif to == To.CHAPTERS:
        keys = ("[CHAPTER]", "TIMEBASE=", "START=", "END=", "title=", ";FFMETADATA1")
        assert all(line.startswith(keys) for line in text.splitlines() if line)
    elif to == To.CHAPTERS_MKV:
        assert ET.fromstring(text).findall("EditionEntry/ChapterAtom")
    elif to == To.CHAPTERS_VTT:
        assert len(webvtt.from_buffer(io.StringIO(text))) > 0
        assert "<script" not in text
    else:
        assert len(webvtt.from_buffer(io.StringIO(text))) == turns
        assert "<script" not in text


def test_the_report_holds_none_of_it_as_markup(cast):
    page = report_folder(cast).read_text("utf-8")
    assert "&lt;script&gt;a" in page
    assert "<script>a" not in page
    assert "\0" not in page
