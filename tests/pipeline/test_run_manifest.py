from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.pipeline import run_manifest
from castlist.pipeline.run_manifest import (
    GROUPING,
    REPORTING,
    TRACKING,
    RunManifest,
    settings_of,
)
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.frames import open_video
from datasets.small_videos import orient, plain, write_video


def test_a_model_is_noted_by_where_and_what_it_is(tmp_path, monkeypatch):
    path = write_video(tmp_path / "v.mp4", [plain((9, 9, 9))] * 3)
    (tmp_path / "m.safetensors").write_bytes(b"a model")
    monkeypatch.chdir(tmp_path)
    with open_video(path) as video:
        noted = RunManifest.open(tmp_path, video, ScanSettings(model=Path("m.safetensors"))).content
        shipped = RunManifest.open(tmp_path, video, ScanSettings()).content
    assert noted["settings"]["model"] == str(tmp_path / "m.safetensors")
    assert noted["settings"]["model_print"] == hashlib.sha256(b"a model").hexdigest()
    assert shipped["settings"]["model"] == "shipped"
    assert shipped["settings"]["model_print"] is None


def test_versions_are_noted_of_what_is_installed(tmp_path, monkeypatch):
    def version(package):
        if package == "torch":
            raise PackageNotFoundError(package)
        return "1.2"

    monkeypatch.setattr(run_manifest, "version", version)
    path = write_video(tmp_path / "v.mp4", [plain((9, 9, 9))] * 3)
    with open_video(path) as video:
        noted = RunManifest.open(tmp_path, video, ScanSettings()).content["versions"]
    assert (noted["numpy"], noted["torch"]) == ("1.2", None)


@pytest.mark.parametrize("settings", [5, {"tracking": 7}, {"n_characters": "many"}, {"model": 7}])
def test_malformed_settings_are_refused(tmp_path, settings):
    with pytest.raises(InputError, match="no valid settings of a scan"):
        settings_of({"settings": settings}, tmp_path)


def test_every_setting_is_fingerprinted_or_does_not_change_the_result():
    # Add a new field to the fingerprints first, or decide here that it cannot change a cast.
    fingerprinted = {
        "tracking", "detector", "describer", "model", "n_characters", "min_characters",
        "max_characters", "tracks",
    }  # fmt: skip
    assert {one.name for one in fields(ScanSettings)} == fingerprinted | {"device"}


def test_a_stage_is_not_done_while_it_is_done_again(tmp_path):
    """Nor is a later one: what a process leaves that was killed within the stage."""
    path = write_video(tmp_path / "v.mp4", [plain((9, 9, 9))] * 3)
    on_disk = []

    def stages():
        return list(json.loads((tmp_path / RUN).read_text("utf-8"))["stages"])

    with open_video(path) as video:
        for name in (TRACKING, GROUPING, REPORTING, GROUPING, TRACKING):
            run = RunManifest.open(tmp_path, video, ScanSettings())
            with run.stage(name):
                on_disk.append(stages())
                killed = RunManifest.open(tmp_path, video, ScanSettings())
                assert not killed.done(name)
            on_disk.append(stages())
            assert RunManifest.open(tmp_path, video, ScanSettings()).done(name)
    first, second = [TRACKING], [TRACKING, GROUPING]
    every = [TRACKING, GROUPING, REPORTING]
    assert on_disk == [[], first, first, second, second, every, first, second, [], first]


def test_a_video_that_is_turned_afterwards_is_tracked_again(tmp_path):
    path = write_video(tmp_path / "v.mp4", [plain((9, 9, 9))] * 3)

    def print_of_tracking():
        with open_video(path) as video:
            return RunManifest.open(tmp_path, video, ScanSettings()).fingerprints[TRACKING]

    prints = [print_of_tracking()]
    for matrix in ((-1, 0, 0, 1), (-1, 0, 0, -1)):
        orient(path, matrix)
        prints.append(print_of_tracking())
    assert len(set(prints)) == 3
