from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from castlist import InputError, cluster_tracks, evaluate, load_model, write_tracks
from castlist.io.lock import LOCK, locked
from castlist.research import SyntheticWorld, read_plan, run_study, synthetic_tracks, write_study
from castlist.research.study.runner import Task

WORLD = SyntheticWorld(dim=48, who=32, how=12, loudness=0.8)
PLAN = """
title = "A study of <nobody>"
seeds = [0, 1]
methods = ["base", "triplet", "ball", "neighbours"]
finetune_iterations = 5
[train]
tracks = "train.parquet"
validation = "val.parquet"
[[test]]
name = "films"
tracks = "test"
paper = true
gallery = ["BBT S1E1"]
faces = "faces"
[test.combined]
BBT = "bbt_*"
[method.triplet]
hidden = [16]
epochs = 2
[method.ball]
hidden = [16]
epochs = 2
[method.neighbours]
hidden = [16]
epochs = 2
[ablation."embedding size"]
of = "ball"
64 = {}
8 = { embedding = 8 }
"""


def two_in_a_frame(tracks):
    """Let every two tracks of a made video share their frames."""
    track = tracks.track_of_face // 2
    place = np.arange(tracks.n_faces) - tracks.offsets[:-1][tracks.track_of_face]
    return replace(tracks, frame=10 * track + place)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("study")
    people = synthetic_tracks(60, 400, 3, world=WORLD, seed=1)
    order = np.unique(people.identity)
    held = np.isin(people.identity, order[:15])
    write_tracks(root / "train.parquet", people[~held])
    write_tracks(root / "val.parquet", people[held])
    (root / "test").mkdir()
    for number in (1, 2):
        one = synthetic_tracks(8, 60, 3, world=WORLD, seed=10 + number)
        one = replace(two_in_a_frame(one), videos=(f"bbt_s01e0{number}",))
        write_tracks(root / "test" / f"bbt_s01e0{number}.parquet", one)
    faces = root / "faces" / "bbt_s01e01"
    faces.mkdir(parents=True)
    for track in one.ids:
        (faces / f"{track}.jpg").write_bytes(b"\xff\xd8picture\xff\xd9")
    (root / "study.toml").write_text(PLAN, "utf-8")
    return root


@pytest.fixture(scope="module")
def study(folder):
    plan = read_plan(folder / "study.toml")
    return plan, run_study(plan, folder / "out")


def test_every_method_seed_column_and_way_is_there(study):
    _, results = study
    ways = {
        "base": {"own", "kmeans", "hac", "xmeans", "gmeans"},
        "triplet": {"own", "train", "kmeans", "hac", "finetuned"},
        "ball": {"own", "kmeans", "hac", "xmeans", "gmeans", "finetuned"},
        "neighbours": {"own", "kmeans", "hac", "xmeans", "gmeans", "finetuned"},
    }
    for method, hows in ways.items():
        for seed in (0, 1):
            for column in ("BBT S1E1", "BBT S1E2", "BBT"):
                found = results.pick(test="films", method=method, seed=seed, column=column)
                assert {record.how for record in found} == hows
                assert len(found) == len(hows)
    for record in results.pick(how="hac"):
        assert record.n_clusters == record.n_characters
    assert {r.method for r in results.pick(test="ablation")} == {"64", "8"}
    assert len(results.pick(test="validation", how="own")) == 6
    extremes = {one.how: one for one in results.pick(test="validation") if one.how != "own"}
    assert {how: one.n_clusters for how, one in extremes.items()} == {
        "one": 1, "each": extremes["each"].n_clusters, "hac": 15,
    }  # fmt: skip
    assert (extremes["one"].nmi, extremes["each"].wcp) == (0, 1)
    assert len(results.train_skew) == 45
    sizes = {label: one.n_parameters for (_, label), one in results.counts.items()}
    assert sizes == {"64": 48 * 16 + 16 + 16 * 64 + 64, "8": 48 * 16 + 16 + 16 * 8 + 8}
    # One batch holds the whole training set.
    assert {one.n_in_batch for one in results.counts.values()} == {45}
    assert set(results.seconds) == {"triplet", "ball"}
    assert [one.name for one in results.statistics["films"]] == ["BBT S1E1", "BBT S1E2", "BBT"]
    assert set(results.curves["films", "BBT"]) == set(ways)


def test_a_record_is_what_the_model_it_kept_gives(folder, study):
    """The same clustering by hand, from the run that the study left."""
    from castlist import read_tracks

    _, results = study
    tracks = read_tracks(folder / "test" / "bbt_s01e02.parquet")
    models = [load_model(path) for path in (folder / "out" / "runs").glob("*/model.safetensors")]
    (model,) = [m for m in models if m.rounds and m.settings["seed"] == 1]
    expected = evaluate(tracks.identity, cluster_tracks(tracks, model).labels)
    (record,) = results.pick(method="neighbours", seed=1, column="BBT S1E2", how="own")
    assert (record.n_clusters, record.nmi) == (expected.n_clusters, pytest.approx(expected.nmi))
    chosen = results.curves["films", "BBT S1E2"]["neighbours"]
    (model,) = [m for m in models if m.rounds and m.settings["seed"] == 0]
    plain = evaluate(tracks.identity, cluster_tracks(tracks, model, overlaps=False).labels)
    assert chosen[1] == plain.n_clusters  # a curve has no cannot-links
    at = list(chosen[0].n_clusters).index(plain.n_clusters)
    assert chosen[0].nmi[at] == pytest.approx(plain.nmi, abs=1e-4)


@pytest.mark.slow
def test_nothing_is_done_twice_and_what_is_lost_is_done_again(folder, study):
    plan, results = study
    cache = folder / "out" / "cache"
    before = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    again = run_study(plan, folder / "out")
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == before
    assert again.records == results.records
    lost = next(path for path in before if "base" in path.name)
    lost.unlink()
    third = run_study(plan, folder / "out")
    assert third.records == results.records
    assert {p for p, t in before.items() if p.stat().st_mtime_ns != t} == {lost}


@pytest.mark.usefixtures("study")
@pytest.mark.slow
def test_other_data_are_other_work(folder):
    file = folder / "test" / "bbt_s01e01.parquet"
    whole = file.read_bytes()
    names = {path.name for path in (folder / "out" / "cache").iterdir()}
    try:
        write_tracks(file, synthetic_tracks(4, 30, 2, world=WORLD, seed=99))
        base = read_plan(folder / "study.toml")
        base = replace(base, methods=base.methods[:1], variants=())
        changed = run_study(base, folder / "out")
    finally:
        file.write_bytes(whole)
    assert {path.name for path in (folder / "out" / "cache").iterdir()} > names
    assert changed.statistics["films"][0].n_tracks == 30


def test_it_writes_a_page_tables_and_records(folder, study):
    plan, results = study
    page, tables, records = write_study(folder / "out", plan, results)
    text = page.read_text("utf-8")
    assert "A study of &lt;nobody&gt;" in text
    assert "data:image/jpeg" in text
    assert "| " in tables.read_text("utf-8")
    with records.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(results.records)


def test_one_study_per_folder_at_a_time(study, tmp_path):
    with locked(tmp_path / "out"):
        with pytest.raises(InputError, match="is using this folder"):
            run_study(study[0], tmp_path / "out")
        with pytest.raises(InputError, match="is using this folder"):
            write_study(tmp_path / "out", *study)
        assert [path.name for path in (tmp_path / "out").iterdir()] == [LOCK]


@pytest.mark.posix
@pytest.mark.slow
def test_the_processes_of_a_killed_study_end(tmp_path):
    """Workers exit by themselves if only the parent process is killed."""
    code = (
        "import os, pathlib, sys, time\n"
        "from castlist.research.study.runner import Task, run_tasks\n"
        "if __name__ == '__main__':\n"
        "    begun = Task('begun', pathlib.Path('begun.json'), os.mkdir, (sys.argv[1],))\n"
        "    long = Task('long', pathlib.Path('long.json'), time.sleep, (600,))\n"
        "    run_tasks([begun, long], 0, 2, lambda *_: None)\n"
    )
    (tmp_path / "some.py").write_text(code)
    words = [sys.executable, "some.py", str(tmp_path / "begun")]
    other = subprocess.Popen(words, cwd=tmp_path, start_new_session=True)
    while not (tmp_path / "begun").exists():
        assert other.poll() is None
        time.sleep(0.02)
    other.kill()
    other.wait()
    until = time.monotonic() + 60
    with suppress(ProcessLookupError):
        while True:
            os.killpg(other.pid, 0)
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.posix
@pytest.mark.slow
def test_a_study_that_is_interrupted_ends_at_once_and_quietly(tmp_path):
    code = (
        "import os, pathlib, sys, time\n"
        "from castlist.research.study.runner import Task, run_tasks\n"
        "if __name__ == '__main__':\n"
        "    begun = Task('begun', pathlib.Path('begun.json'), os.mkdir, (sys.argv[1],))\n"
        "    long = Task('long', pathlib.Path('long.json'), time.sleep, (600,))\n"
        "    try:\n"
        "        run_tasks([begun, long], 0, 2, lambda *_: None)\n"
        "    except KeyboardInterrupt:\n"
        "        sys.exit(130)\n"
    )
    (tmp_path / "some.py").write_text(code)
    words = [sys.executable, "some.py", str(tmp_path / "begun")]
    other = subprocess.Popen(
        words, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, encoding="utf-8"
    )
    while not (tmp_path / "begun").exists():
        assert other.poll() is None
        time.sleep(0.02)
    os.killpg(other.pid, signal.SIGINT)  # as a terminal does: all of them
    assert other.communicate(timeout=60)[1] == ""
    assert other.returncode == 130


def test_restart_keeps_folders_of_other_programs(study, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match="not the folder of a study"):
        run_study(study[0], tmp_path, restart=True)
    assert (tmp_path / "runs" / "mine.txt").read_text() == "precious"


def test_a_file_where_a_folder_should_be(study, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="needs a folder"):
        run_study(study[0], tmp_path / "out")


def test_an_error_names_the_task(folder, study, tmp_path):
    plan, _ = study
    small = synthetic_tracks(3, 12, 2, world=SyntheticWorld(dim=5, who=2, how=2))
    write_tracks(tmp_path / "t.parquet", small)
    test = replace(plan.tests[0], tracks=(tmp_path / "t.parquet",), combined={})
    # Whichever of the concurrent tasks reaches it first.
    says = "films ball seed 0( finetuned films)?: this model takes 48-d features"
    with pytest.raises(InputError, match=says):
        run_study(replace(plan, tests=(test,), methods=plan.methods[2:3]), folder / "out")
    with pytest.raises(InputError, match="no video matches bbt"):
        run_study(replace(plan, tests=(replace(test, combined={"BBT": "bbt_*"}),)), folder / "out")


def test_cache_files_are_plain_json(folder, study):
    for path in (folder / "out" / "cache").iterdir():
        assert isinstance(json.loads(path.read_text("utf-8")), dict)


def test_videos_are_called_as_in_the_paper():
    from castlist.research.study.tasks import column_name

    assert column_name("buffy_s05e06") == "BUFFY S5E6"
    assert column_name("holiday.mp4") == "holiday.mp4"


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000])
def test_a_damaged_answer_is_reported(tmp_path, text):
    task = Task.of("a", tmp_path, dict, ())
    task.write({"nmi": 0.5})
    with task.answer() as answer:
        assert answer == {"nmi": 0.5}
    task.file.write_text(text)
    with pytest.raises(InputError, match="damaged; delete it"), task.answer():
        pass


@pytest.mark.parametrize(
    ("glob", "key", "value"),
    [
        ("runs/*/answer.json", "n_clusters", None),
        ("runs/*/answer.json", "n_characters", "five"),
        ("cache/films-*.json", "records", None),
        ("cache/films-*.json", "records", [{"test": "films"}]),
        ("cache/films-base-seed-0-*.json", "curves", {"BBT": {"nmi": [0.5]}}),
        ("cache/seconds-*.json", "seconds", {"ball": "long"}),
    ],
)
def test_an_answer_of_another_shape_is_damaged(folder, study, glob, key, value):
    # Damage the answers of other settings too.
    before = {file: file.read_text() for file in (folder / "out").glob(glob)}
    for file, text in before.items():
        answer = json.loads(text)
        answer.pop(key, None)
        file.write_text(json.dumps(answer | ({} if value is None else {key: value})))
    try:
        with pytest.raises(InputError, match="damaged; delete it"):
            run_study(study[0], folder / "out")
    finally:
        for file, text in before.items():
            file.write_text(text)
