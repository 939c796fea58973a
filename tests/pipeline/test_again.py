from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.pipeline import again
from castlist.pipeline.again import scan_to_add, settings_of
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.watch_settings import WatchSettings


def noted(folder: Path, settings: ScanSettings) -> None:
    """Write settings as a scan notes them."""
    folder.mkdir()
    value = {**asdict(settings), "model": str(settings.model or "shipped"),
             "tracks": settings.tracks and str(settings.tracks)}  # fmt: skip
    (folder / RUN).write_text(json.dumps({"settings": value}))


@pytest.mark.parametrize(
    "settings",
    [
        ScanSettings(),
        ScanSettings(n_characters=2, finetune=True, device="cuda"),
        ScanSettings(
            watching=WatchSettings(sample_rate=2.5, min_face=40, look_width=640),
            describer="sface", model=Path("/models/a.safetensors"), min_characters=3,
            max_characters=9, tracks=Path("/videos/tracks.txt"),
        ),
    ],
)  # fmt: skip
def test_a_video_is_added_with_the_settings_it_was_scanned_with(tmp_path, monkeypatch, settings):
    video = tmp_path / "e1.mp4"
    noted(tmp_path / "e1.cast", settings)
    scans = []

    class Done:
        folder = tmp_path / "e1.cast"

    def scan(*given, **named):
        scans.append(given)
        return Done

    monkeypatch.setattr(again, "scan", scan)
    assert scan_to_add(tmp_path / "season.cast", video) == tmp_path / "e1.cast"
    assert scans == [(video, tmp_path / "e1.cast", settings)]


def test_a_new_video_is_described_as_the_others(tmp_path, monkeypatch):
    noted(tmp_path / "season.cast", ScanSettings(describer="sface", n_characters=4))
    scans = []
    monkeypatch.setattr(again, "scan", lambda *given, **named: scans.append(given) or given[1])
    with pytest.raises(AttributeError):  # of the folder that stands for a scan
        scan_to_add(tmp_path / "season.cast", tmp_path / "e9.mp4")
    assert scans[0][2] == ScanSettings(describer="sface")


@pytest.mark.parametrize("settings", [5, {"watching": 7}, {"n_characters": "many"}, {"model": 7}])
def test_settings_that_are_none_are_said_to_be(tmp_path, settings):
    with pytest.raises(InputError, match="no settings of a scan"):
        settings_of({"settings": settings}, tmp_path)
