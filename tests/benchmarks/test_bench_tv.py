"""The benchmark on clips with truth: its tables, its JSON, and what it refuses."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from benchmarks import bench_tv, tv_tables
from castlist import Corrections
from castlist.export.write import export_cast
from castlist.research.score.clip import CharacterScore
from datasets.small_videos import write_video
from datasets.synthetic_casts import made_video, write_folder


@pytest.fixture
def folder(tmp_path):
    """A folder of two clips, with casts; one has its truth from its own cast."""
    tracks = made_video()
    for name, labels in (("good", None), ("merged", np.zeros(len(tracks), int))):
        cast = write_folder(tmp_path / "casts" / f"{name}.cast", tracks, labels)
        if labels is None:
            text = "".join(
                path.read_text()
                for path in export_cast(Corrections(cast), "truth", tmp_path / "made.csv")
            )
        (tmp_path / "truth").mkdir(exist_ok=True)
        (tmp_path / "truth" / f"{name}.csv").write_text(text)
        (tmp_path / "clips").mkdir(exist_ok=True)
        (tmp_path / "clips" / f"{name}.mp4").touch()
    (tmp_path / "missed").mkdir()
    (tmp_path / "missed" / "good.json").write_text('[{"from": 0, "to": 1}]')
    return tmp_path


def bench(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["bench_tv.py", *map(str, words)])
    bench_tv.main()


def test_casts_at_hand_are_scored(folder, monkeypatch, capsys):
    bench(monkeypatch, folder, "--casts", folder / "casts")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["clip", "people", "chars", "tracks"]
    good, merged = (" ".join(line.split()) for line in lines[1:3])
    # 220 looks of 0.2 s: 20 tracks in 44 s of people.
    assert good == "good 4 4 20 1.000 1.000 1.000 0 0 0 0 1.000 0 0 0 27.3 - -"
    assert merged == "merged 4 1 20 0.000 0.250 0.250 15 0 0 0 1.000 3 0 - 27.3 - -"
    assert lines[3].startswith("mean: nmi 0.500, wcp 0.625, accuracy 0.625, number off 37.5%")
    assert "repairs 15 for 40 tracks (37.5%)" in lines[3]
    assert "lost: 3 of 8 people own no character, 0 of them have no track" in lines
    assert any(line.startswith("80 and more         40    15") for line in lines)
    assert any(line.startswith("sure         two or more") for line in lines)


def test_json_has_the_same_figures(folder, monkeypatch, capsys):
    bench(monkeypatch, folder, "good", "--casts", folder / "casts", "--json")
    value = json.loads(capsys.readouterr().out)
    assert list(value["clips"]) == ["good"]
    one = value["clips"]["good"]
    assert (one["people"], one["nmi"], one["unlabelled"], one["wall_seconds"]) == (4, 1, 0, None)
    assert {character["pure"] for character in one["by_character"]} == {True}
    assert all(0 <= character["sure"] <= 1 for character in one["by_character"])
    assert value["summary"]["repairs"] == 0
    assert value["scan_options"] is None
    assert sum(row["characters"] for row in value["reliability"]) == 4


def test_words_are_counted_with_single_tracks_apart():
    rows = tv_tables.reliability(
        [
            (CharacterScore(0, 3, True, True), "sure"),
            (CharacterScore(1, 2, False, True), "sure"),
            (CharacterScore(2, 1, True, False), "sure"),
            (CharacterScore(3, 2, True, False), "unsure"),
        ]
    )
    counts = {(row.word, row.single): (row.characters, row.pure, row.whole) for row in rows}
    assert counts["sure", False] == (2, 1, 2)
    assert counts["sure", True] == (1, 1, 0)
    assert counts["unsure", False] == (1, 1, 0)
    assert counts["fairly sure", False] == (0, 0, 0)


@pytest.mark.parametrize(
    ("spoil", "words", "says"),
    [
        (None, ["nothere"], "there is no folder nothere/truth"),
        ("truth", ["."], "truth has no .csv files"),
        ("clips", ["."], "clips has no video files"),
        ("truth/good.csv", ["."], "good.mp4 has no truth"),
        ("clips/good.mp4", ["."], "good.csv has no clip"),
        (None, [".", "best"], "no clip best"),
        (None, [".", "--keep", "casts"], "casts has a cast of good; score it with --casts"),
        (None, [".", "--casts", "clips"], "no cast of good: there is no clips/good.cast"),
        ("casts/good.cast/cast.json", [".", "--casts", "casts"], "cast.json: not a cast"),
        ("casts/good.cast/tracks.parquet", [".", "--casts", "casts"], "no such file"),
        (None, [".", "--casts", "casts", "--", "--fast"], "--casts scans nothing"),
        (None, [".", "--casts", "casts", "--keep", "new"], "not allowed with"),
    ],
)
def test_what_is_missing_is_one_message_and_exit_code_2(
    folder, monkeypatch, capsys, spoil, words, says
):
    monkeypatch.chdir(folder)
    if spoil:
        path = folder / spoil
        for file in path.iterdir() if path.is_dir() else [path]:
            file.unlink()
    with pytest.raises(SystemExit) as end:
        bench(monkeypatch, *words)
    assert end.value.code == 2
    assert says in capsys.readouterr().err


def test_two_clips_of_one_name_are_refused(folder, monkeypatch, capsys):
    (folder / "clips" / "good.MKV").touch()
    with pytest.raises(SystemExit) as end:
        bench(monkeypatch, folder)
    assert end.value.code == 2
    assert "have one name" in capsys.readouterr().err


def test_a_clip_is_scanned_by_the_real_command(tmp_path, monkeypatch, capfd):
    (tmp_path / "clips").mkdir()
    (tmp_path / "truth").mkdir()
    write_video(tmp_path / "clips" / "grey.mp4", [np.full((120, 160, 3), 90, np.uint8)] * 5, 5)
    (tmp_path / "truth" / "grey.csv").write_text("time,x,y,w,h,who\n0,10,10,30,30,anna\n")
    words = (tmp_path, "--json", "--keep", tmp_path / "made", "--", "--sample-rate", "3")
    bench(monkeypatch, *words)
    out, err = capfd.readouterr()
    value = json.loads(out)
    one = value["clips"]["grey"]
    assert (one["people"], one["lost"], one["tracks"], one["seen"]) == (1, 1, 0, 0)
    assert one["wall_seconds"] > 0
    assert one["processor_seconds"] > 0
    assert value["scan_options"] == ["--sample-rate", "3"]
    assert "scanning grey, 1 of 1" in err
    run = json.loads((tmp_path / "made" / "grey.cast" / "run.json").read_text("utf-8"))
    assert run["settings"]["tracking"]["sample_rate"] == 3

    (tmp_path / "clips" / "grey.mp4").write_text("no video")
    with pytest.raises(SystemExit) as end:
        bench(monkeypatch, tmp_path)
    assert end.value.code == 2
    assert "ended with code 2" in capfd.readouterr().err
