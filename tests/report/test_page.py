from __future__ import annotations

import base64
import hashlib
import re
import shutil
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from castlist import TrackSet
from castlist.cast.cast import Appearance, Cast, Character
from castlist.cast.corrections import Corrections
from castlist.errors import CastlistError
from castlist.io.pictures import Cover
from castlist.report.page import place, render_report, report_folder, title_of, write_report
from datasets.synthetic_casts import made_video, write_folder
from tests.pages import Page


def tracks_at(*spans: tuple[float, float], video: str = "film.mp4", faces: int = 2) -> TrackSet:
    """One track per span, with faces at its start, its end and between."""
    time = np.concatenate([np.linspace(*span, faces) for span in spans]) if spans else []
    return TrackSet.from_faces(np.repeat(np.arange(len(spans)), faces), time=time, video=video)


def character(number=1, tracks=(0,), name="", background=False, seconds=10.0, sure=0.93):
    return Character(number, name, background, np.array(tracks, np.int64), seconds, sure)


def jpeg(track: int) -> list[bytes]:
    return [b"\xff\xd8best of %d\xff\xd9" % track, b"\xff\xd8second of %d\xff\xd9" % track]


@pytest.fixture
def cast() -> Cast:
    """Four characters in 100 seconds; the last two are in the background."""
    tracks = tracks_at((0, 10), (50, 60), (20, 30), (99.9, 100), (40, 40.2))
    return Cast(
        tracks,
        (
            character(1, [0, 1], name="Joyce", seconds=20, sure=0.93),
            character(2, [2], seconds=10, sure=0.85),
            character(3, [3], background=True, seconds=0.1, sure=0.1),
            character(4, [4], background=True, seconds=0.2, sure=1.0),
        ),
        100.0,
    )


def test_all_characters_in_order_background_last(cast):
    page = Page(render_report(cast, jpeg))
    assert page.texts("h1") == ["film.mp4"]
    assert page.texts("h2") == ["Characters", "Background characters"]
    assert page.texts("h3") == [one.title for one in cast.characters]
    order = [attrs.get("id") for tag, attrs, _ in page.elements if tag in ("h2", "article")]
    assert order == [
        "characters",
        "character-1",
        "character-2",
        "background",
        "character-3",
        "character-4",
    ]
    assert page.texts("p", class_="figures") == [
        "1:40 long 4 characters, 2 in the background 5 tracks"
    ]


def test_background_comes_last_even_when_given_first(cast):
    mixed = Cast(cast.tracks, cast.characters[::-1], cast.duration)
    assert Page(render_report(mixed, jpeg)).texts("h3") == [
        cast.characters[i].title for i in (1, 0, 3, 2)
    ]


def test_characters_too_small_to_tell_come_last(cast):
    first, *rest = cast.characters
    text = render_report(Cast(cast.tracks, (replace(first, small=True), *rest), 100.0), jpeg)
    page = Page(text)
    assert page.texts("h2")[-1] == "Too small to tell"
    assert page.texts("h3")[-1] == first.title
    assert page.inside(text, "character-1").texts("span", class_="sure too") == [
        "too small to tell"
    ]
    assert "Too small to tell" not in render_report(cast, jpeg)


def test_what_a_card_says(cast):
    text = render_report(cast, jpeg)
    page = Page(text)
    joyce = page.inside(text, "character-1")
    assert joyce.texts("p", class_="facts") == [
        "0:20 on screen, 20% 2 tracks seen from 0:00 to 1:00"
    ]
    assert joyce.find("span", class_="sure sure")[0][0]["title"].startswith("0.93")
    assert joyce.texts("span", class_="sure sure") == ["sure"]
    assert page.inside(text, "character-2").texts("span", class_="sure fairly") == ["fairly sure"]
    third = page.inside(text, "character-3")
    assert third.texts("span", class_="sure unsure") == ["unsure"]
    assert third.texts("p", class_="facts") == [
        "<0:01 on screen, 0.1% 1 track seen from 1:39 to 1:40"
    ]


def test_timelines_are_where_the_faces_are(cast):
    """100 seconds on 1000 units: 10 per second, and nothing narrower than 3 or past the end."""
    text = render_report(cast, jpeg)
    page = Page(text)

    def rects(number):
        found = page.inside(text, f"character-{number}").find("rect")
        return [(float(a["x"]), float(a["width"]), said) for a, said in found]

    assert rects(1) == [(0, 100, "0:00–0:10"), (500, 100, "0:50–1:00")]
    assert rects(2) == [(200, 100, "0:20–0:30")]
    assert rects(3) == [(997, 3, "1:39–1:40")]
    assert rects(4) == [(400, 3, "0:40")]
    assert page.texts("output")[:2] == ["2 appearances", "1 appearance"]


def test_a_merged_appearance_counts_its_tracks():
    cast = Cast(tracks_at((0, 10), (10.2, 20)), (character(1, [0, 1]),), 100.0)
    assert Page(render_report(cast, jpeg)).texts("rect") == ["0:00–0:20 (2 tracks)"]


def test_a_strip_has_at_most_a_few_hundred_rects():
    """2,000 moments over 2 hours; each rect stands apart from the next."""
    starts = np.linspace(0, 7190, 2000)
    for chosen in (np.arange(2000), np.arange(0, 2000, 7)):
        tracks = tracks_at(*((s, s + 0.5) for s in starts))
        cast = Cast(tracks, (character(1, chosen),), 7200.0)
        found = Page(render_report(cast, jpeg)).find("rect")
        assert 1 <= len(found) <= 301
        edges = [(float(a["x"]), float(a["x"]) + float(a["width"])) for a, _ in found]
        assert all(end < start for (_, end), (start, _) in pairwise(edges))


def test_the_timeline_includes_faces_after_the_reported_duration():
    cast = Cast(tracks_at((0, 10), (190, 200)), (character(1, [0, 1]),), 100.0)
    found = Page(render_report(cast, jpeg)).find("rect")
    assert [(a["x"], a["width"]) for a, _ in found] == [("0.0", "50.0"), ("950.0", "50.0")]


def test_a_video_of_unknown_length_has_no_scale():
    assert place(Appearance(0, 0, 1), 0.0) == (0.0, 3)


def test_unknown_times_leave_the_timeline_out():
    tracks = TrackSet.from_faces(["a", "a", "b"])
    cast = Cast(tracks, (character(1, [0, 1], seconds=np.nan),), float("nan"))
    page = Page(render_report(cast, jpeg))
    assert not page.find("svg")
    assert page.texts("p", class_="facts") == ["2 tracks"]
    assert {a["alt"] for a, _ in page.find("img")} == {"Character 1"}


def sources(page: Page) -> list[bytes]:
    return [
        base64.b64decode(a["src"].removeprefix("data:image/jpeg;base64,"))
        for a, _ in page.find("img")
    ]


def test_faces_are_the_best_of_tracks_spread_in_time():
    """Twelve tracks, six faces: the longer of each two neighbours, the longest of all first."""
    counts = [2, 3, 3, 2, 2, 3, 3, 2, 2, 9, 3, 2]
    track = np.repeat(np.arange(12), counts)
    tracks = TrackSet.from_faces(track, time=track * 5.0)
    cast = Cast(tracks, (character(1, np.arange(12)),), 60.0)
    page = Page(render_report(cast, jpeg))
    assert sources(page) == [jpeg(i)[0] for i in (9, 1, 2, 5, 6, 10)]
    first, *others = [a for a, _ in page.find("img")]
    assert first["alt"] == "Character 1 at 0:45"
    assert int(first["width"]) > int(others[0]["width"])
    assert all(a["height"] == a["width"] and a["decoding"] == "async" for a in [first, *others])


def test_the_caller_chooses_the_tracks_to_show():
    """The cover comes first; a track without a picture is replaced by the next."""
    cast = Cast(tracks_at(*((i, i + 1) for i in range(6))), (character(1, np.arange(6)),), 6.0)

    def shown(rows, most):
        assert (rows.tolist(), most) == ([0, 1, 2, 3, 4, 5], 6)
        return [[4, 5], [0, 1], [2, 3]]

    page = Page(render_report(cast, lambda i: jpeg(i) if i != 0 else [], shown=shown))
    assert sources(page) == [jpeg(i)[0] for i in (4, 1, 2)]


def frame_for(track: int) -> tuple[bytes, Cover] | None:
    return (b"\xff\xd8frame of %d" % track, Cover(0.5, 65.0, (0.25, 0.5, 0.125, 1 / 3)))


def framed(page: Page) -> list[bytes]:
    """Return the frames of a page, each checked to be around a cover."""
    found = [a for tag, a, _ in page.elements if "data-frame" in a]
    assert all(a["class"] == "cover" for a in found)
    return [
        base64.b64decode(a["data-frame"].removeprefix("data:image/jpeg;base64,")) for a in found
    ]


def test_the_frame_of_a_cover_comes_with_it(cast):
    text = render_report(cast, jpeg, frames=lambda track: frame_for(track) if track < 3 else None)
    page = Page(text)
    assert framed(page) == [frame_for(0)[0], frame_for(2)[0]]  # of the first two characters
    ((attributes, _),) = page.inside(text, "character-1").find("span", class_="cover")
    assert attributes["data-box"] == "25.0 50.0 12.5 33.3"
    assert attributes["data-caption"] == "1:05"
    assert framed(Page(render_report(cast, jpeg))) == []
    assert all(url.startswith(("data:", "#")) for url in urls(text))


def test_frames_and_faces_share_the_size_limit(monkeypatch, cast):
    """Covers come first, then frames, then more faces; frames of the background last."""

    def shown_with(room):
        monkeypatch.setattr("castlist.report.page.PICTURE_BYTES", room)
        page = Page(render_report(cast, jpeg, frames=frame_for))
        return len(sources(page)), [int(frame.split()[-1]) for frame in framed(page)]

    assert shown_with(0) == (4, [])
    assert shown_with(4 * 55) == (4, [0, 2])
    assert shown_with(10**6) == (5, [0, 2, 3, 4])


def test_background_characters_get_two_faces():
    tracks = tracks_at(*((i, i + 1) for i in range(9)))
    cast = Cast(tracks, (character(1, np.arange(9), background=True),), 10.0)
    assert len(sources(Page(render_report(cast, jpeg)))) == 2


def test_a_track_without_pictures_gives_way_to_its_neighbour():
    tracks = tracks_at(*((i, i + 1) for i in range(12)))
    cast = Cast(tracks, (character(1, np.arange(12)),), 12.0)
    page = Page(render_report(cast, lambda i: jpeg(i) if i % 2 else []))
    assert sources(page) == [jpeg(i)[0] for i in (1, 3, 5, 7, 9, 11)]
    bare = Page(render_report(cast, lambda i: []))
    assert not bare.find("img")
    assert bare.texts("div", class_="nothing") == ["no picture"]


def urls(text: str) -> list[str]:
    """Everything a browser could fetch or follow."""
    page = Page(text)
    named = ("src", "href", "srcset", "xlink:href", "action", "poster", "data", "background")
    found = [a[name] for _, a, _ in page.elements for name in named if name in a]
    found += [a.get("style", "") for _, a, _ in page.elements if "url(" in a.get("style", "")]
    style = " ".join(page.texts("style"))
    assert "@import" not in style
    return found + re.findall(r"url\(\s*['\"]?([^)'\"]*)", style)


def test_nothing_is_loaded_from_outside(cast):
    text = render_report(cast, jpeg, {"home": "https://example.org"})
    assert all(url.startswith(("data:", "#")) for url in urls(text))
    page = Page(text)
    assert not {"link", "iframe", "base", "object", "embed"} & {tag for tag, _, _ in page.elements}
    policy = page.find("meta", **{"http-equiv": "Content-Security-Policy"})[0][0]["content"]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?://", " ".join(page.texts("script") + page.texts("style")))


def test_the_policy_allows_the_script_that_is_there(cast):
    text = render_report(cast, jpeg)
    script = re.search(r"<script>(.*)</script>", text, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = Page(text).find("meta", **{"http-equiv": "Content-Security-Policy"})[0][0]["content"]
    assert f"script-src 'sha256-{digest}'" in policy


EVIL = "<script>alert(1)</script>.mp4"


def test_names_are_text():
    name = "\"><img src=x onerror=alert(2)> & '</title>"
    tracks = tracks_at((0, 1), video=EVIL)
    about = {"<b>key": {"<i>": ["<u>", "</script>"]}, "text": "</details>"}
    text = render_report(Cast(tracks, (character(name=name),), 10.0), jpeg, about)
    page = Page(text)
    assert page.texts("h1") == [EVIL]
    assert page.texts("title")[0] == f"Cast of {EVIL}"
    assert page.texts("h3") == [name]
    assert len(page.find("script")) == 1
    assert page.find("img")[0][0]["alt"] == f"{name} at 0:00"
    assert page.texts("dt") == ["<b>key", "<i>", "text"]
    assert not {"i", "u"} & {tag for tag, _, _ in page.elements}
    assert not any(key.startswith("on") for _, a, _ in page.elements for key in a)


def test_a_name_that_is_not_utf8_is_written(tmp_path):
    video = b"caf\xe9.mp4".decode("utf-8", "surrogateescape")
    cast = Cast(tracks_at((0, 1), video=video), (character(),), 10.0)
    write_report(cast, jpeg, tmp_path / "cast.html")
    assert Page((tmp_path / "cast.html").read_text("utf-8")).texts("h1") == ["caf?.mp4"]


def test_an_empty_cast_says_so():
    page = Page(render_report(Cast(tracks_at(), (), 75.0), jpeg))
    assert page.texts("h2") == ["No faces were found in this video"]
    assert len(page.texts("li")) >= 2
    assert page.texts("p", class_="figures") == ["1:15 long 0 characters 0 tracks"]
    assert not page.find("article")


def test_a_cast_with_tracks_but_no_characters():
    page = Page(render_report(Cast(tracks_at((0, 1)), (), 75.0), jpeg))
    assert page.texts("h2") == ["This cast has no characters"]
    assert page.texts("section") == [
        "This cast has no characters 1 track was found in this video, "
        "and none belongs to a character."
    ]


def test_only_background():
    cast = Cast(tracks_at((0, 1)), (character(background=True),), 10.0)
    assert Page(render_report(cast, jpeg)).texts("h2") == ["Background characters"]


def test_about_is_collapsed_at_the_end(cast):
    about = {"castlist": "0.2", "seconds": {"scan": 12.5}, "order": (1, 2), "none": None}
    page = Page(render_report(cast, jpeg, about))
    ((attrs, _),) = page.find("details")
    assert "open" not in attrs
    assert page.texts("dd") == ["0.2", "scan 12.5", "12.5", "1, 2", "None"]
    assert not Page(render_report(cast, jpeg)).find("details")


@pytest.mark.parametrize("size", [6_000, 30_000])
def test_a_large_cast_stays_small(tmp_path, size):
    """3,000 tracks, 500 characters, each picture once; heavy ones cost faces, not characters."""
    rng = np.random.default_rng(0)
    starts = np.sort(rng.uniform(0, 7000, 3000))
    owner = np.where(np.arange(3000) < 500, np.arange(3000), rng.integers(0, 150, 3000))
    tracks = tracks_at(*((s, s + 3) for s in starts), faces=3)
    characters = tuple(
        character(i + 1, np.flatnonzero(owner == i), background=i >= 150) for i in range(500)
    )
    pictures = rng.bytes(size * 64)
    path = tmp_path / "cast.html"
    write_report(
        Cast(tracks, characters, 7200.0),
        lambda i: [b"%06d" % i + pictures[: size - 6 - i % 500]],
        path,
    )
    assert path.stat().st_size < (15e6 if size < 10_000 else 500 * size * 4 / 3 + 1e6)
    page = Page(path.read_text("utf-8"))
    shown = Counter(a["src"] for a, _ in page.find("img"))
    assert set(shown.values()) == {1}
    assert len(page.find("article")) == 500
    assert len(page.find("div", class_="nothing")) == 0


def test_the_file_is_complete_or_absent(cast, tmp_path):
    def broken(track):
        raise OSError("the video is gone")

    path = tmp_path / "new" / "cast.html"
    write_report(cast, jpeg, path)
    before = path.read_bytes()
    with pytest.raises(OSError, match="gone"):
        write_report(cast, broken, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["cast.html"]
    with pytest.raises(CastlistError, match="it is a folder"):
        write_report(cast, jpeg, tmp_path)


def test_ids_are_unique_and_fragments_resolve(cast):
    page = Page(render_report(cast, jpeg))
    ids = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a, _ in page.find("a")} <= set(ids)
    assert {a["aria-labelledby"] for a, _ in page.find("section")} <= set(ids)


def test_the_title_of_a_series_is_that_of_its_folder(tmp_path):
    assert title_of(["a.mp4"], tmp_path / "a.cast") == "a.mp4"
    assert title_of(["a.mp4", "b.mp4"], tmp_path / "Season 1.5.cast") == "Season 1.5, 2 videos"
    assert title_of(["a.mp4", "b.mp4"]) == "a.mp4 and 1 more"


def test_a_folder_that_is_removed_meanwhile_is_not_made_again(tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video())
    with Corrections(folder) as corrections:
        shutil.rmtree(folder)
        with pytest.raises(CastlistError, match="was removed"):
            report_folder(corrections)
    assert not folder.exists()
