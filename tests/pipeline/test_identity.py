"""A folder holds the cast of one video, and is not taken for that of another."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from castlist import InputError
from castlist.cast.corrections import Corrections
from castlist.cast.database import set_aside
from castlist.cast.folder import CAST, CORRECTIONS, RUN, TRACKS
from castlist.cast.log import Log
from castlist.pipeline.catalogue import find_videos, scan_all
from castlist.pipeline.scan import PARTS, OtherVideoError, scan
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.tracking_settings import TrackingSettings
from tests.programs import castlist
from tests.video.test_fingerprint import film, rewrap


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def scanned_seasons(portraits, tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("seasons")
    for season, clip in (("s01", "guido"), ("s02", "katherine")):
        (tmp_path / season).mkdir()
        shutil.copyfile(portraits / f"{clip}.mp4", tmp_path / season / "e01.mp4")
    scan_all(find_videos([tmp_path / "s01"], tmp_path / "casts"), ScanSettings())
    with Corrections(tmp_path / "casts" / "e01.cast") as cast:
        cast.name(1, "Anna")
    return tmp_path


@pytest.fixture
def seasons(scanned_seasons, tmp_path):
    """Two seasons, both with an ``e01.mp4``, and the cast of the first, with a name."""
    return shutil.copytree(scanned_seasons, tmp_path, dirs_exist_ok=True)


def test_another_season_does_not_replace_the_first(seasons):
    casts = seasons / "casts"
    before = content(casts)
    done = castlist("scan", seasons / "s02", "-o", casts, code=2)
    said = " ".join(done.stderr.split())
    assert "e01.cast holds the cast of another video, e01.mp4" in said
    assert "(-o FOLDER, or --replace)" in said
    assert content(casts) == before
    (outcome,) = scan_all(find_videos([seasons / "s02"], casts), ScanSettings())
    assert outcome.other
    assert not scan_all(find_videos([seasons / "s01"], casts), ScanSettings())[0].failed
    with Corrections(casts / "e01.cast") as cast:
        assert [one.name for one in cast.cast.characters] == ["Anna"]


def test_a_cast_that_is_replaced_leaves_its_log_and_no_name(seasons):
    folder = seasons / "casts" / "e01.cast"
    done = castlist("scan", seasons / "s02", "-o", seasons / "casts", "--replace", "--json")
    (found,) = json.loads(done.stdout)
    with Corrections(folder) as cast:
        assert [one.name for one in cast.cast.characters] == [""]
        assert cast.history == []
    (aside,) = folder.glob("corrections-*.db")
    assert found["set_aside"] == str(aside)
    with closing(Log(aside)) as log:
        assert log.last == 1
        assert "Anna" in str(log.events())
    scan(seasons / "s02" / "e01.mp4", folder)  # now it is this one's
    again = scan(seasons / "s01" / "e01.mp4", folder, replace=True)
    assert again.set_aside is None  # nothing was said of the other


def test_another_cut_under_the_same_name_is_noticed(tmp_path):
    video = film(tmp_path / "e01.mp4", [0, 1, 2])
    scan(video)
    before = content(tmp_path / "e01.cast")
    film(video, [0, 2, 1])
    with pytest.raises(OtherVideoError, match="e01.mp4.* differs: its frame at 0:04 is different"):
        scan(video)
    assert content(tmp_path / "e01.cast") == before
    assert scan(video, replace=True).run["video"]["fingerprint"]["frames"] == 60
    scan(video)


def test_one_that_was_not_scanned_to_its_end_is_somebodys_too(tmp_path, monkeypatch):
    video = film(tmp_path / "e01.mp4", [0, 1, 2])

    def cut_off(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("castlist.pipeline.scan._track_into", cut_off)
    with pytest.raises(KeyboardInterrupt):
        scan(video)
    monkeypatch.undo()
    assert (tmp_path / "e01.cast" / PARTS).is_dir()
    other = film(tmp_path / "e02.mp4", [4, 5])
    with pytest.raises(OtherVideoError, match="another video, e01.mp4"):
        scan(other, tmp_path / "e01.cast")
    scan(video)


def test_a_cast_is_whole_until_the_other_video_is_watched(seasons, monkeypatch):
    folder = seasons / "casts" / "e01.cast"
    before = content(folder)

    def cut_off(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("castlist.pipeline.scan._track_into", cut_off)
    with pytest.raises(KeyboardInterrupt):
        scan(seasons / "s02" / "e01.mp4", folder, replace=True)
    shutil.rmtree(folder / PARTS)
    assert content(folder) == before


def test_the_same_video_by_another_name_date_or_container_is_not_watched_again(tmp_path):
    video = film(tmp_path / "e01.mp4", [0, 1, 2])
    folder = scan(video).folder
    noted = (folder / TRACKS).stat().st_mtime_ns
    os.utime(video, (1, 1))
    scan(video)
    copy = shutil.copyfile(video, tmp_path / "copy.mp4")
    again = scan(copy, folder)
    assert again.run["video"]["name"] == "copy.mp4"
    assert (folder / TRACKS).stat().st_mtime_ns == noted
    scan(rewrap(video, tmp_path / "e01.mkv"), folder)  # the same video; another file is watched
    with pytest.raises(InputError, match="another video, e01.mkv"):
        scan(film(tmp_path / "x.mp4", [7]), folder)


def test_a_cast_whose_video_is_not_noted_is_taken_up(tmp_path):
    video = film(tmp_path / "e01.mp4", [0])
    folder = scan(video).folder
    (folder / RUN).write_text("{")
    scan(video)
    run = json.loads((folder / RUN).read_text())
    run["video"]["fingerprint"] = {"seconds": "long"}
    (folder / RUN).write_text(json.dumps(run))
    assert scan(
        video, settings=ScanSettings(tracking=TrackingSettings(sample_rate=2))
    ).report.exists()
    assert (folder / CAST).is_file()


def test_a_log_is_set_aside_whole(tmp_path):
    assert set_aside(tmp_path / CORRECTIONS) is None
    names = []
    for k in range(3):
        path = tmp_path / CORRECTIONS
        with closing(sqlite3.connect(path)) as held:  # a page that is open
            held.execute("PRAGMA journal_mode = WAL")
            held.execute("CREATE TABLE said (what)")
            held.execute("INSERT INTO said VALUES (?)", (k,))
            held.commit()
            names.append(set_aside(path))
            held.execute("INSERT INTO said VALUES ('later')")
            held.commit()
        assert not list(tmp_path.glob(f"{CORRECTIONS}*"))
    for k, path in enumerate(names):
        with closing(sqlite3.connect(path)) as db:
            assert [row[0] for row in db.execute("SELECT what FROM said")] == [k, "later"]
