from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from castlist import Corrections, read_tracks, scan
from castlist.cli.scan import _print_table
from castlist.pipeline.catalogue import Entry, Outcome
from castlist.video.frames import open_video
from datasets.small_videos import plain, write_video
from tests.programs import castlist


@pytest.fixture
def folder(tmp_path):
    """A folder with spaces and accents, and a video with nobody in it."""
    folder = tmp_path / "a folder é"
    folder.mkdir()
    write_video(folder / "grey one.mp4", [plain((90, 90, 90), (320, 180))] * 30)
    return folder


def test_a_video_with_nobody_in_it(folder):
    done = castlist("scan", folder / "grey one.mp4")
    assert "No faces were found in 6 frames" in done.stdout
    assert str(folder / "grey one.cast" / "report.html") in done.stdout
    (found,) = json.loads(castlist("scan", folder / "grey one.mp4", "--json").stdout)
    assert found["characters"] == []


def test_a_clip_is_one_character(folder, portraits):
    done = castlist("scan", portraits / "guido.mp4", "-o", folder, "--json")
    (found,) = json.loads(done.stdout)
    assert found["report"] == str(folder / "guido.cast" / "report.html")
    assert [one["title"] for one in found["characters"]] == ["Character 1"]
    assert found["characters"][0]["seconds"] == pytest.approx(3.1, abs=0.3)
    table = castlist("scan", portraits / "guido.mp4", "-o", folder).stdout
    assert "Character 1" in table
    assert "1 character; 1 track in 0:03 of video" in table


def test_what_was_said_of_tracks_that_are_not_found_again_is_told(folder, portraits):
    """A master takes the place of its proxy, and then none of its faces is large enough."""
    video = folder / "guido.mp4"
    with open_video(portraits / "guido.mp4") as master:
        small = [cv2.resize(frame.image(), None, fx=0.4, fy=0.5) for frame in master.frames()]
        write_video(video, small, round(master.rate))
    cast = scan(video).folder
    with Corrections(cast) as corrections:
        corrections.name(1, "Guido")
    shutil.copyfile(portraits / "guido.mp4", video)
    again = scan(video)
    assert [one.name for one in again.cast.characters] == ["Guido"]
    assert again.lost == 0
    told = castlist("scan", video, "--min-face", "2000").stdout
    assert "1 corrected track of earlier scans was not found in this one" in told
    assert f"`castlist log {cast}`" in told
    assert "is not in this scan" in castlist("log", cast).stdout


def test_a_fast_scan_searches_half_as_many_frames(folder):
    video = folder / "grey one.mp4"
    assert "in 3 frames" in castlist("scan", video, "--fast", "--threads", "1").stdout
    done = castlist("scan", video, "--fast", "--sample-rate", "5")
    assert "in 6 frames" in done.stdout
    refused = castlist("scan", video, "--threads", "0", code=2)
    assert "--threads" in refused.stderr


@pytest.mark.parametrize("option", ["--characters", "--min-characters"])
def test_more_characters_than_tracks_are_refused_and_what_was_watched_is_kept(
    folder, portraits, option
):
    done = castlist("scan", portraits / "guido.mp4", "-o", folder, option, "2", code=2)
    at_least = "at least " if option == "--min-characters" else ""
    said = f"guido.mp4: cannot make {at_least}2 characters of 1 track; give at most 1"
    assert said in done.stderr
    cast = folder / "guido.cast"
    assert list((cast / "parts").glob("*.npz"))
    castlist("scan", portraits / "guido.mp4", "-o", folder, option, "1")
    watched = json.loads((cast / "run.json").read_text())["stages"]["tracking faces"]
    assert watched["resumed_at"] == watched["end"] > 0  # nothing was watched again
    castlist("scan", portraits / "guido.mp4", "-o", folder, option, "2", code=2)
    stages = json.loads((cast / "run.json").read_text())["stages"]
    assert stages["tracking faces"] == watched
    assert set(stages) == {
        "tracking faces",
        "grouping",
        "writing the report",
    }  # of the one that could be


def test_the_table_of_several_videos_lists_tracks_put_together(capsys):
    of = {"count": 1, "pairs": [{"tracks": ["00004", "00009"], "time": 12.0}]}
    outcomes = [
        Outcome(
            Entry(Path(name), Path("x.cast")),
            {"characters": [{}], "counts": {"tracks": 2, "characters": 1}, "duration": 3.0,
             "given_up": given_up},
        )
        for name, given_up in (("a.mp4", {"count": 0, "pairs": []}), ("b.mp4", of))
    ]  # fmt: skip
    _print_table(outcomes)
    said = capsys.readouterr().out
    assert "b.mp4: 1 character required 1 pair of tracks that share a frame" in said
    assert "a.mp4: " not in said


def test_a_truncated_video_is_scanned_as_far_as_it_goes_and_this_is_said(folder):
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (48, 64, 3), np.uint8) for _ in range(100)]
    whole = write_video(folder / "whole.mkv", images, g="1")
    data = whole.read_bytes()
    (folder / "half.mkv").write_bytes(data[: len(data) // 2])
    done = castlist("scan", folder / "half.mkv", folder / "whole.mkv")
    (said,) = [line for line in done.stdout.splitlines() if "Read until" in line]
    assert "half.mkv: Read until 0:02 of 0:04" in said
    again = castlist("scan", folder / "half.mkv")  # nothing is read again
    assert "Read until 0:02 of 0:04" in again.stdout
    run = json.loads((folder / "half.cast" / "run.json").read_text())
    assert run["video"]["duration"] == pytest.approx(4)
    assert run["video"]["read_until"] == pytest.approx(2, abs=0.1)
    assert "read_until" not in json.loads((folder / "whole.cast" / "run.json").read_text())["video"]


def test_one_bad_video_among_several_does_not_stop_the_others(folder):
    (folder / "text.mp4").write_text("not a video")
    done = castlist("scan", folder / "text.mp4", folder / "grey one.mp4", code=2)
    assert "text.mp4: cannot be read as a video" in done.stderr
    assert "1 of 2 videos could not be scanned" in done.stderr
    assert (folder / "grey one.cast" / "report.html").is_file()
    assert not (folder / "text.cast").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.mp4"], "none.mp4: no such video file"),
        (["grey one.mp4", "--describer", "resnet"], "unknown describer 'resnet'"),
        (["grey one.mp4", "--characters", "2", "--min-characters", "2"], "not both"),
        (
            ["grey one.mp4", "--min-characters", "3", "--max-characters", "2"],
            "min_characters (3) is greater than max_characters (2)",
        ),
        (["grey one.mp4", "--device", "tpu"], "unknown device 'tpu'; choose from cpu, cuda"),
        (["grey one.mp4", "--model", "none.safetensors"], "no such model file"),
        (["grey one.mp4", "--sample-rate", "0"], "Invalid value"),
        (["grey one.mp4", "x/grey one.mp4", "-o", "out"], "would have the same cast folder"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(folder, words, message, monkeypatch):
    monkeypatch.chdir(folder)
    done = castlist("scan", *words, code=2)
    assert message in " ".join(done.stderr.split())


def test_describe(folder, portraits):
    with open_video(portraits / "katherine.mp4") as video:
        image = next(video.frames()).image()
    for name in ("ann/1.jpg", "ann/2.jpg", "bob/1.jpg"):
        (folder / "album" / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / "album" / name), image)
    cv2.imwrite(str(folder / "album" / "bob" / "2.jpg"), np.zeros((50, 50, 3), np.uint8))
    (folder / "people.txt").write_text("bob\n")
    out = folder / "faces.parquet"
    done = castlist("research", "describe", folder / "album", "-o", out, "--degraded", "1")
    assert "skipped 1 picture without a face" in done.stdout
    assert "3 tracks of 2 people" in done.stdout
    assert read_tracks(out).face_counts.tolist() == [2, 2, 2]
    castlist("research", "describe", folder / "album", "-o", out, "--people", folder / "people.txt")
    assert read_tracks(out).identity.tolist() == ["bob"]
    done = castlist("research", "describe", folder / "nowhere", "-o", out, code=2)
    assert "no such folder" in done.stderr
