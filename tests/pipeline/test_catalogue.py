"""Many videos: found, scanned one after another, and none stops the others."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.io.lock import LOCK, locked
from castlist.pipeline import catalogue
from castlist.pipeline.catalogue import Entry, find_videos, scan_all, scan_to_add
from castlist.pipeline.scan import scan
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.tracking_settings import TrackingSettings
from datasets.small_videos import plain, write_video
from tests.programs import castlist


@pytest.fixture
def series(tmp_path):
    """Two seasons with an episode each, and what is no video of theirs."""
    for name in ("season 1/one.mp4", "season 2/one.MKV"):
        (tmp_path / name).parent.mkdir()
        write_video(tmp_path / "v.avi", [plain((90, 90, 90), (320, 180))] * 10)
        (tmp_path / "v.avi").rename(tmp_path / name)
    (tmp_path / "season 1" / "one.srt").write_text("words")
    (tmp_path / "season 1" / ".hidden.mp4").write_text("")
    (tmp_path / "season 1" / "other.cast").mkdir()
    (tmp_path / "season 1" / "other.cast" / "inside.mp4").write_text("")
    return tmp_path


def test_videos_of_folders(series):
    found = find_videos([series, series / "season 1" / "one.mp4"])
    assert found == [
        Entry(series / "season 1" / "one.mp4", series / "season 1" / "one.cast"),
        Entry(series / "season 2" / "one.MKV", series / "season 2" / "one.cast"),
    ]
    out = [entry.folder for entry in find_videos([series], Path("out"))]
    assert out == [Path("out/season 1/one.cast"), Path("out/season 2/one.cast")]


def test_videos_that_cannot_be(series, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no videos in this folder"):
        find_videos([tmp_path / "empty"])
    folders = [series / "season 1", series / "season 2"]
    (folders[1] / "one.MKV").rename(folders[1] / "one.mp4")
    with pytest.raises(InputError, match="season 1.*season 2.*same cast folder.*holds both"):
        find_videos(folders, Path("out"))


def test_videos_that_differ_in_their_suffix_have_a_cast_each(tmp_path):
    for name in ("a.mp4", "a.mkv", "b.mp4"):
        write_video(tmp_path / name, [plain((90, 90, 90), (320, 180))] * 5)
    entries = find_videos([tmp_path])
    assert [e.folder.name for e in entries] == ["a.mkv.cast", "a.mp4.cast", "b.cast"]
    assert not any(outcome.failed for outcome in scan_all(entries, ScanSettings()))
    assert find_videos([tmp_path]) == entries
    (alone,) = find_videos([tmp_path / "a.mkv"])  # also if it is scanned by itself later
    assert alone.folder == tmp_path / "a.mkv.cast"
    (tmp_path / "a.mkv").unlink()
    assert [e.folder.name for e in find_videos([tmp_path])] == ["a.mp4.cast", "b.cast"]


def test_a_cast_keeps_its_folder_when_a_video_of_its_name_comes(tmp_path):
    write_video(tmp_path / "a.mp4", [plain((90, 90, 90), (320, 180))] * 5)
    scan(tmp_path / "a.mp4")
    write_video(tmp_path / "A.mkv", [plain((90, 90, 90), (320, 180))] * 5)
    assert [e.folder.name for e in find_videos([tmp_path])] == ["A.mkv.cast", "a.cast"]


def test_linked_folders_are_searched_once(series, tmp_path_factory):
    away = tmp_path_factory.mktemp("away")
    (away / "extras").mkdir()
    (away / "extras" / "x.mp4").write_text("")
    (away / "back").symlink_to(series, target_is_directory=True)
    (series / "a link").symlink_to(away, target_is_directory=True)
    (series / "again").symlink_to(away / "extras", target_is_directory=True)
    (series / "season 0").symlink_to(series / "season 1", target_is_directory=True)
    (series / "season 1" / "up").symlink_to(series.parent, target_is_directory=True)
    found = [str(entry.video.relative_to(series)) for entry in find_videos([series])]
    assert found == ["a link/extras/x.mp4", "season 1/one.mp4", "season 2/one.MKV"]


def test_the_networks_are_loaded_once(series, monkeypatch):
    import castlist.pipeline.scan as networks

    opened = []
    for name in ("open_detector", "open_describer"):
        real = getattr(networks, name)
        monkeypatch.setattr(networks, name, lambda *a, f=real, n=name: opened.append(n) or f(*a))
    told = []
    outcomes = scan_all(
        find_videos([series]), ScanSettings(), progress=lambda *what: told.append(what)
    )
    assert [outcome.failed for outcome in outcomes] == ["", ""]
    assert sorted(opened) == ["open_describer", "open_detector"]
    assert [what[1:] for what in told if what[0] == "videos"] == [(0, 2), (1, 2), (2, 2)]


def test_a_bug_in_one_video_does_not_stop_the_others(series, monkeypatch):
    def broken(video, *rest, **words):
        if video.suffix == ".mp4":
            raise ZeroDivisionError("never thought of")
        return scan(video, *rest, **words)

    monkeypatch.setattr("castlist.pipeline.catalogue.scan", broken)
    first, second = scan_all(find_videos([series]), ScanSettings())
    assert first.failed.endswith("one.mp4: ZeroDivisionError: never thought of")
    assert not second.failed


def test_the_command_line_tries_the_failed_again(series):
    bad = series / "season 2" / "bad.mp4"
    bad.write_text("not a video")
    done = castlist("scan", series, "-o", series / "out", code=2)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["video", "characters", "tracks", "length"]
    assert "2 videos, <0:01 in all" in done.stdout or "2 videos, 0:01 in all" in done.stdout
    assert f"{bad}: cannot be read as a video" in done.stderr
    assert (
        "1 of 3 videos could not be scanned; run the same command to try them again" in done.stderr
    )
    assert not (series / "out" / "season 2" / "bad.cast").exists()
    page = series / "out" / "season 2" / "one.cast" / "report.html"
    written = page.stat().st_mtime_ns
    bad.write_bytes((series / "season 1" / "one.mp4").read_bytes())
    found = json.loads(castlist("scan", series, "-o", series / "out", "--json").stdout)
    assert [Path(one["folder"]).name for one in found] == ["one.cast", "bad.cast", "one.cast"]
    assert page.stat().st_mtime_ns == written  # what is done is not done again


def test_one_scan_a_folder_at_a_time(series):
    video = series / "season 1" / "one.mp4"
    folder = video.with_suffix(".cast")
    with locked(folder):
        with pytest.raises(InputError, match="is using this folder"):
            scan(video)
        with pytest.raises(InputError, match="is using this folder"), locked(folder, patience=0.3):
            pass
    assert scan(video).report.is_file()
    assert not (folder / LOCK).exists()


def write_manifest(folder: Path, settings: ScanSettings) -> None:
    """Write settings as a scan does."""
    folder.mkdir()
    value = {**asdict(settings), "model": str(settings.model or "shipped"),
             "tracks": settings.tracks and str(settings.tracks)}  # fmt: skip
    (folder / RUN).write_text(json.dumps({"settings": value}))


@pytest.mark.parametrize(
    "settings",
    [
        ScanSettings(),
        ScanSettings(n_characters=2, device="cuda"),
        ScanSettings(
            tracking=TrackingSettings(sample_rate=2.5, min_face=40, look_width=640),
            describer="sface", model=Path("/models/a.safetensors"), min_characters=3,
            max_characters=9, tracks=Path("/videos/tracks.txt"),
        ),
    ],
)  # fmt: skip
def test_a_video_is_added_with_the_settings_it_was_scanned_with(tmp_path, monkeypatch, settings):
    video = tmp_path / "e1.mp4"
    write_manifest(tmp_path / "e1.cast", settings)
    scans = []

    class Done:
        folder = tmp_path / "e1.cast"

    def scan(*given, **named):
        scans.append(given)
        return Done

    monkeypatch.setattr(catalogue, "scan", scan)
    files = {"model": settings.model, "tracks": settings.tracks}
    assert scan_to_add(tmp_path / "season.cast", video, **files) == tmp_path / "e1.cast"
    assert scans == [(video, tmp_path / "e1.cast", settings)]


NAMED = {"describer": "x.onnx", "model": "/home/me/m.safetensors", "tracks": "/home/me/t.txt"}


@pytest.mark.parametrize("cast", ["e1.cast", "season.cast"])
@pytest.mark.parametrize("name", NAMED)
def test_a_file_that_only_a_cast_names_is_not_opened(tmp_path, monkeypatch, cast, name):
    if (cast, name) == ("season.cast", "tracks"):
        return  # those of another video
    write_manifest(tmp_path / cast, ScanSettings())
    (tmp_path / cast / RUN).write_text(json.dumps({"settings": {name: NAMED[name]}}))
    scans = []
    monkeypatch.setattr(catalogue, "scan", lambda *given, **named: scans.append(given))
    with pytest.raises(InputError, match=f"as its {name}, {NAMED[name]}; give that file again"):
        scan_to_add(tmp_path / "season.cast", tmp_path / "e1.mp4")
    assert scans == []
    own = NAMED[name] if name == "describer" else Path(NAMED[name])
    with pytest.raises(AttributeError):  # of None, which stands for a scan
        scan_to_add(tmp_path / "season.cast", tmp_path / "e1.mp4", **{name: own})
    assert getattr(scans[0][2], name) == own


def test_a_new_video_is_described_as_the_others(tmp_path, monkeypatch):
    write_manifest(tmp_path / "season.cast", ScanSettings(describer="sface", n_characters=4))
    scans = []
    monkeypatch.setattr(catalogue, "scan", lambda *given, **named: scans.append(given) or given[1])
    with pytest.raises(AttributeError):  # of the folder that stands for a scan
        scan_to_add(tmp_path / "season.cast", tmp_path / "e9.mp4")
    assert scans[0][2] == ScanSettings(describer="sface")
