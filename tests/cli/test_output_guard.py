"""No command overwrites a cast, and no scan overwrites anything else."""

from __future__ import annotations

import pytest

from castlist.cast.corrections import Corrections
from castlist.cast.series import join
from castlist.research.training.run_folder import LOG, MODEL
from datasets.small_videos import plain, write_video
from datasets.synthetic_casts import episode
from tests.programs import castlist


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("films")
    one, two = (episode(home, f"e{k}", seed=k) for k in (1, 2))
    join([one, two], home / "season.cast")
    cast = Corrections(home / "season.cast")
    cast.name(1, "Anna")
    cast.close()
    write_video(home / "season.mp4", [plain((9, 9, 9))])
    (home / "plan.toml").write_text(
        'title = "x"\nseeds = [0]\nmethods = ["base"]\n'
        '[[test]]\nname = "e"\ntracks = "e1.cast/tracks.parquet"\n'
        'validation = "e2.cast/tracks.parquet"\n'
    )
    return home


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("scan season.mp4", "several videos"),
        (
            "research train e1.cast/tracks.parquet -o season.cast",
            "run needs its own folder",
        ),
        ("research study plan.toml -o season.cast", "study needs its own folder"),
        (
            "research finetune e1.cast/tracks.parquet -o season.cast/model.safetensors",
            "model.safetensors",
        ),
        ("research describe e1.cast/faces -o season.cast/corrections.db", "choose another file"),
        ("cluster e1.cast/tracks.parquet --threshold 1 -o season.cast/run.json", "choose another"),
        ("export season.cast --to csv -o season.cast/balls.npz", "choose another file"),
    ],
)
def test_a_cast_is_not_overwritten(home, monkeypatch, words, says):
    monkeypatch.chdir(home)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    done = castlist(*words.split(), code=2)
    assert says in done.stderr
    assert "season.cast" in done.stderr
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_a_cast_does_not_overwrite_other_files(home, tmp_path):
    film = write_video(tmp_path / "film.mp4", [plain((9, 9, 9))])
    (tmp_path / "film.cast").mkdir()
    for one in (LOG, MODEL):
        (tmp_path / "film.cast" / one).write_text("mine")
    assert "not a cast" in castlist("scan", film, code=2).stderr
    casts = home / "e1.cast", home / "e2.cast"
    done = castlist("join", *casts, "-o", tmp_path / "film.cast", code=2)
    assert "film.cast exists already; give another folder" in done.stderr
    assert {path.name for path in (tmp_path / "film.cast").iterdir()} == {LOG, MODEL}
