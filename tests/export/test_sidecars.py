"""NFO and XMP sidecars, read back by XML's own reader."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from castlist import InputError
from castlist.export.nfo import Kind, nfo_lines
from castlist.export.timecode import exact_rate
from castlist.export.timeline import timelines
from castlist.export.write import ExportSettings, export_cast
from castlist.export.xmp import xmp_lines
from tests.export.casts import AWKWARD, made_cast, made_timeline, nobody, two_videos

SPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "iptc": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
    "dm": "http://ns.adobe.com/xmp/1.0/DynamicMedia/",
}


def nfo(cast, kind=None):
    (one,) = timelines(cast)
    return ET.fromstring("".join(nfo_lines(one, kind)))


def test_nfo_lists_the_named_people_as_actors(tmp_path):
    cast = made_cast(tmp_path / "film.cast", video="A Film (1999).mkv", duration=700.0)
    first, second = (one.number for one in cast.cast.characters)
    cast.name(second, AWKWARD)
    root = nfo(cast)
    assert root.tag == "movie"
    assert root.findtext("title") == "A Film (1999)"
    assert root.findtext("runtime") == "12"
    assert [one.findtext("name") for one in root.findall("actor")] == [AWKWARD]
    assert root.find("actor/role") is None
    cast.name(first, "Jennifer Aniston as Rachel Green")
    actors = nfo(cast).findall("actor")
    assert [one.findtext("order") for one in actors] == ["0", "1"]
    assert actors[0].findtext("name") == "Jennifer Aniston"
    assert actors[0].findtext("role") == "Rachel Green"
    video = nfo(cast).find("fileinfo/streamdetails/video")
    assert [video.findtext(k) for k in ("width", "height", "durationinseconds")] == [
        "640", "360", "700"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("video", "kind", "tag", "numbers"),
    [
        ("show.S02E13.mkv", None, "episodedetails", ("2", "13")),
        ("Show s1e5.mp4", None, "episodedetails", ("1", "5")),
        ("show.S02E13.mkv", Kind.MOVIE, "movie", (None, None)),
        ("pilot.mp4", Kind.EPISODE, "episodedetails", (None, None)),
        ("cars2e4.mp4", None, "movie", (None, None)),
    ],
)
def test_episodes_by_their_numbers(tmp_path, video, kind, tag, numbers):
    cast = made_cast(tmp_path / "film.cast", video=video)
    cast.name(1, "Anna")
    root = nfo(cast, kind)
    assert root.tag == tag
    assert (root.findtext("season"), root.findtext("episode")) == numbers


def test_nfo_of_nobody(tmp_path):
    root = ET.fromstring("".join(nfo_lines(nobody(tmp_path / "film.cast"))))
    assert root.findall("actor") == []


@pytest.mark.parametrize("rate", [24000 / 1001, 25])
def test_xmp_has_persons_shown_and_markers(tmp_path, rate):
    one = made_timeline(tmp_path / "film.cast", rate)
    root = ET.fromstring("".join(xmp_lines(one)))
    assert root.tag == "{adobe:ns:meta/}xmpmeta"
    about = root.find("rdf:RDF/rdf:Description", SPACES)
    persons = about.findall("iptc:PersonInImage/rdf:Bag/rdf:li", SPACES)
    assert [who.text for who in persons] == [AWKWARD]
    track = about.find("dm:Tracks/rdf:Bag/rdf:li", SPACES)
    unit = track.findtext("dm:frameRate", None, SPACES)
    assert unit == ("f25" if rate == 25 else "f24000s1001")
    frame = 1 / exact_rate(rate)
    markers = track.findall("dm:markers/rdf:Seq/rdf:li", SPACES)
    for marker, (seen, person) in zip(markers, one.in_order(), strict=True):
        assert marker.findtext("dm:name", None, SPACES) == person.label
        start = int(marker.findtext("dm:startTime", None, SPACES))
        length = int(marker.findtext("dm:duration", None, SPACES))
        assert float(start * frame) == pytest.approx(seen.start, abs=float(frame))
        assert float((start + length) * frame) == pytest.approx(seen.end, abs=float(frame))


def test_xmp_of_nobody(tmp_path):
    root = ET.fromstring("".join(xmp_lines(nobody(tmp_path / "film.cast"))))
    assert root.find(".//iptc:PersonInImage", SPACES) is None
    assert root.findall(".//dm:markers/rdf:Seq/rdf:li", SPACES) == []


@pytest.mark.parametrize("to", ["nfo", "xmp"])
def test_sidecars_have_the_name_of_the_video_and_replace_only_their_own(tmp_path, monkeypatch, to):
    monkeypatch.chdir(tmp_path)
    cast = made_cast(tmp_path / "film.cast", video="film.one.mp4")
    cast.name(1, "Anna")
    for _ in range(2):
        (path,) = export_cast(cast, to)
        assert path.name == f"film.one.{to}"
    path.write_text("<movie><title>from elsewhere</title></movie>")
    with pytest.raises(InputError, match="not of castlist"):
        export_cast(cast, to)
    assert "elsewhere" in path.read_text()
    both = two_videos(tmp_path)
    for one in both.cast.characters:
        both.name(one.number, f"p{one.number}")
    paths = export_cast(both, to, tmp_path / "out")
    assert [path.name for path in paths] == [f"a.{to}", f"b.{to}"]


def test_a_kind_that_does_not_exist_is_refused(tmp_path):
    cast = made_cast(tmp_path / "film.cast")
    with pytest.raises(InputError, match="unknown kind of video 'song'"):
        export_cast(cast, "nfo", tmp_path / "x.nfo", ExportSettings(kind="song"))
