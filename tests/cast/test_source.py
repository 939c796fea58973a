from __future__ import annotations

import shutil

import pytest

import castlist.cast.join
from castlist import CastlistError
from castlist.cast.corrections import Corrections
from castlist.cast.folder import EPISODES, FACES, TRACKS
from castlist.cast.join import add, join
from tests.cast.test_join import episode


@pytest.fixture
def rescanned(monkeypatch):
    """Let a folder be scanned again, as far as its pictures, just before they are taken."""
    real = castlist.cast.join.write_episode

    def begin(folder, other):
        def late(*given):
            if given[-1] == folder / FACES:
                shutil.copyfile(other / TRACKS, folder / "new")
                (folder / "new").replace(folder / TRACKS)
                shutil.rmtree(folder / FACES)
                shutil.copytree(other / FACES, folder / FACES)
            real(*given)

        monkeypatch.setattr(castlist.cast.join, "write_episode", late)

    return begin


def test_no_pictures_of_another_scan_are_joined(tmp_path, rescanned):
    one, two, other = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3))
    rescanned(two, other)
    with pytest.raises(CastlistError, match="e2.cast was scanned again"):
        join([one, two], tmp_path / "season.cast")
    assert not (tmp_path / "season.cast").exists()


def test_no_pictures_of_another_scan_are_added(tmp_path, rescanned):
    one, two, three, other = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3, 4))
    season = tmp_path / "season.cast"
    join([one, two], season)
    rescanned(three, other)
    with pytest.raises(CastlistError, match="e3.cast was scanned again"):
        add(season, three)
    assert Corrections(season).tracks.videos == ("e1.mp4", "e2.mp4")


def test_a_video_may_be_given_twice_and_lie_where_nothing_can_be_written(tmp_path):
    one, two = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2))
    two.chmod(0o555)
    join([one, two, one], tmp_path / "season.cast")
    assert len(list((tmp_path / "season.cast" / EPISODES).iterdir())) == 3
    two.chmod(0o755)
