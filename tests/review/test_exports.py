"""The Export view: every format with its options, reels, graphs and blurred videos."""

from __future__ import annotations

import json
import shutil
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import av
import numpy as np
import pytest

from castlist.cast.corrections import Corrections
from castlist.cast.series import join
from castlist.export.write import FORMATS, ExportSettings, To, export_lines
from castlist.review.export_job import HANDOVER, ExistsError, Exporting, ExportRequest
from castlist.review.exports import formats_view
from datasets.small_videos import write_video
from datasets.synthetic_casts import episode, made_video, write_folder
from robustness.review_server import Server
from tests.review.test_browser import open_page, show


@pytest.fixture
def own(home, tmp_path) -> Path:
    """A copy of the cast and its video: files are written beside it."""
    shutil.copytree(home.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "film.cast"


def run(folder, **wanted):
    """Run one export to its end; return the job."""
    with Corrections(folder) as cast:
        job = Exporting(cast)
        job.start(ExportRequest(**wanted))
        job._run.thread.join(60)
    return job


def test_every_format_is_what_the_command_writes(own):
    with Corrections(own) as cast:
        for to in To:
            name = f"out{FORMATS[to].suffix}"
            job = run(own, what=to, name=name, replace=True)
            assert job.error == ""
            (made,) = job.made
            assert made.files == (own.parent / name,)
            assert made.files[0].read_bytes().decode() == "".join(export_lines(cast, to))


def test_options_are_passed_on(own):
    run(own, what="edl", name="a.edl", rate=29.97, drop_frame=False)
    with Corrections(own) as cast:
        text = "".join(export_lines(cast, "edl", ExportSettings(rate=29.97, drop_frame=False)))
    assert (own.parent / "a.edl").read_text() == text
    job = run(own, what="vtt", name="a.vtt", rate=25)
    assert "vtt is in seconds" in job.error
    assert not (own.parent / "a.vtt").exists()


def test_reel_graph_and_blur(own):
    job = run(own, what="reel", name="r.mp4", people=[1], pad=0.2, exact=True)
    assert (job.error, len(job.made)) == ("", 1)
    with av.open(str(own.parent / "r.mp4")) as film:
        assert film.duration > 0
    assert "scenes" in job.made[0].notes[0]
    run(own, what="reel", name="r.fcpxml", people=[1])
    assert ET.parse(own.parent / "r.fcpxml").getroot().tag == "fcpxml"
    run(own, what="graph", name="g.graphml")
    assert ET.parse(own.parent / "g.graphml").getroot().tag.endswith("graphml")
    job = run(own, what="blur", name="b.mkv", people=[1])
    assert job.error == ""
    assert job.made[0].notes[0].startswith("A face that was not found is not covered")
    with av.open(str(own.parent / "b.mkv")) as film:
        assert film.streams.video[0].width == 640
    with Corrections(own) as cast:
        covers = formats_view(cast, job)["options"]["cover"]["choices"]
    assert covers[0] == ["solid", "black"]  # the page sends the first unless another is chosen
    assert run(own, what="blur", name="soft.mkv", cover=covers[1][0]).error == ""
    assert (own.parent / "soft.mkv").read_bytes() != (own.parent / "b.mkv").read_bytes()


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"what": "xls", "name": "x.xls"}, "unknown format 'xls'"),
        ({"what": "csv", "name": "x.mp4"}, r"must end in \.csv"),
        ({"what": "csv", "name": "../x.csv"}, "is not a file name"),
        ({"what": "csv", "name": "/tmp/x.csv"}, "is not a file name"),
        ({"what": "csv", "name": ".."}, "is not a file name"),
        ({"what": "reel", "name": "x.mp4"}, "choose at least one person"),
        ({"what": "reel", "name": "film.mp4", "people": [1], "replace": True}, "another name"),
        ({"what": "blur", "name": "film.mp4", "replace": True}, "choose another name"),
    ],
)
def test_what_cannot_be_is_refused(own, wanted, says):
    before = sorted(own.parent.rglob("*"))
    with pytest.raises(ValueError, match=says):
        Exporting(Corrections(own)).start(ExportRequest(**wanted))
    assert sorted(own.parent.rglob("*")) == before


def test_a_file_is_replaced_only_if_asked(own):
    (own.parent / "a.csv").write_text("mine")
    with pytest.raises(ExistsError, match="exists already"):
        run(own, what="csv", name="a.csv")
    assert (own.parent / "a.csv").read_text() == "mine"
    run(own, what="csv", name="a.csv", replace=True)
    assert (own.parent / "a.csv").read_text().startswith("character,")
    job = run(own, what="reel", name="r.mp4", people=[1])
    with pytest.raises(ExistsError):  # made by this server: may be replaced
        job.start(ExportRequest(what="reel", name="r.mp4", people=[2]))


def test_cancel_leaves_nothing(own):
    job = Exporting(Corrections(own))
    job.start(ExportRequest(what="blur", name="b.mp4"))
    job.cancel()
    job._run.thread.join(60)
    assert "cancelled" in job.error
    assert job.made == []
    assert not list(own.parent.glob("*b.mp4*"))


@pytest.mark.parametrize(
    "wanted",
    [{"what": "blur"}, {"what": "reel", "people": [1], "gap": 3600, "exact": True}],
    ids=lambda wanted: wanted["what"],
)
def test_a_server_that_is_stopped_leaves_no_half_film(tmp_path, wanted):
    folder = tmp_path / "film.cast"
    frames = [np.random.default_rng(k).integers(0, 256, (360, 640, 3), np.uint8) for k in range(9)]
    write_video(tmp_path / "film.mp4", (frames[k % 9] for k in range(250)), 5)
    write_folder(folder, made_video(), duration=50.0)
    before = sorted(tmp_path.iterdir())
    with Server(folder) as server:
        assert server.ask("/api/export", {"name": "b.mp4", **wanted})[0] == 200
        until = time.monotonic() + 60
        while not list(tmp_path.glob(".*")) and time.monotonic() < until:
            time.sleep(0.01)
        assert server.get("/api/export")["running"]  # it is ended by Ctrl-C now
    assert sorted(tmp_path.iterdir()) == before


def test_one_file_per_video_goes_to_a_folder(tmp_path):
    casts = [episode(tmp_path, name, seed=k) for k, name in enumerate(("e1", "e2"))]
    join(casts, tmp_path / "s.cast")
    job = run(tmp_path / "s.cast", what="vtt", name="captions")
    assert [path.name for path in job.made[0].files] == ["e1.mp4.vtt", "e2.mp4.vtt"]
    job = run(tmp_path / "s.cast", what="json", name="s.json")
    assert len(json.loads((tmp_path / "s.json").read_text())["videos"]) == 2
    for name in ("s.cast", "e1.cast"):
        with pytest.raises(ValueError, match="is a cast"):
            run(tmp_path / "s.cast", what="vtt", name=name, replace=True)


def test_the_server_lists_runs_and_serves(own):
    with Server(own) as server:
        offered = server.get("/api/export/formats")
        assert {one["what"] for one in offered["formats"]} == {*To, *HANDOVER}
        known = offered["options"]
        assert all(option in known for one in offered["formats"] for option in one["options"])
        csv = next(one for one in offered["formats"] if one["what"] == "csv")
        assert csv["name"] == "film.csv"
        body = {"what": "csv", "name": csv["name"]}
        assert server.ask("/api/export", body, token="wrong")[0] == 403
        assert server.ask("/api/export", {**body, "nothing": 1})[0] == 422
        assert server.ask("/api/export", body)[0] == 200
        while (now := server.get("/api/export"))["running"]:
            time.sleep(0.05)
        assert now["made"] == [{"number": 0, "notes": [], "files": ["film.csv"]}]
        status, headers, content = server.ask("/exports/0/0")
        assert status == 200
        assert "attachment" in headers["content-disposition"]
        assert content == (own.parent / "film.csv").read_bytes()
        for path in ("/exports/1/0", "/exports/0/1"):
            assert server.ask(path)[0] == 404
        status, _, refused = server.ask("/api/export", body)
        assert (status, json.loads(refused)["kind"]) == (422, "ExistsError")


def test_export_on_the_page(browser, own):
    with Server(own) as server:
        context = browser.new_context(viewport={"width": 400, "height": 800})
        page = open_page(context, server)
        show(page, "#/export", "export")
        page.locator("[data-add=people]").focus()
        page.keyboard.press("Enter")
        page.keyboard.type("1")
        page.keyboard.press("Enter")
        page.wait_for_selector(".chip")
        page.get_by_label("Type of the file").select_option(".otio")
        assert page.locator("#export-name").input_value() == "film-reel.otio"
        page.get_by_role("button", name="Export").click()
        link = page.get_by_role("link", name="film-reel.otio")
        link.wait_for()
        with page.expect_download() as waiting:
            link.click()
        assert json.loads(waiting.value.path().read_text())["OTIO_SCHEMA"] == "Timeline.1"
        # A second time: asks before it replaces the file.
        page.get_by_role("button", name="Export").click()
        page.locator("dialog [data-action=replace]").click()
        page.wait_for_selector(".events li:nth-child(2)")
        page.locator("#export-what").select_option("blur")
        assert page.locator(".chip").count() == 0  # nobody is left visible unasked
        page.locator("#export-what").select_option("edl")
        page.locator("#export-drop_frame").select_option("yes")
        page.get_by_role("button", name="Export").click()
        page.wait_for_selector(".job .bad")
        assert "drop-frame" in page.locator(".job").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.problems == []
        context.close()
