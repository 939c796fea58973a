from __future__ import annotations

import json

import pytest

from castlist.cli.app import COMMANDS
from castlist.cli.config import KEYS, NAME, USER_ONLY, user_file
from datasets.small_videos import plain, write_video
from tests.programs import castlist


@pytest.fixture
def film(tmp_path, monkeypatch):
    """A video with nobody in it, and an empty config folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "films"
    folder.mkdir()
    return write_video(folder / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 30)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def rate_of(film):
    run = json.loads((film.with_suffix(".cast") / "run.json").read_text("utf-8"))
    return run["settings"]["tracking"]["sample_rate"]


def test_every_key_is_an_option_of_scan():
    options = {option for one in COMMANDS.load("scan").params for option in one.opts}
    assert {f"--{key}" for key in KEYS} <= options


def test_the_file_beside_the_video_then_the_users_and_the_command_line_first(film):
    own = write(user_file(), "[scan]\nsample-rate = 2\n")
    assert f"settings from {own}\n" in castlist("scan", film).stderr
    assert rate_of(film) == 2
    beside = write(film.parent / NAME, "[scan]\nsample-rate = 3.5\nthreads = 1\n")
    done = castlist("scan", film, "--json")
    assert f"settings from {beside}\n" in done.stderr
    assert json.loads(done.stdout)  # no word of it among the JSON
    assert rate_of(film) == 3.5
    castlist("scan", film, "--sample-rate", "1")
    assert rate_of(film) == 1
    castlist("scan", film.parent)
    assert rate_of(film) == 3.5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[scan]\nspeed = 3\n", "unknown key 'speed' in [scan]"),
        ("[train]\n", "unknown table or key 'train'"),
        ("scan = 3\n", "scan must be a table"),
        ("[scan]\nmin-face = 2.5\n", "min-face in [scan] must be a whole number, not 2.5"),
        ("[scan]\nmin-face = true\n", "min-face in [scan] must be a whole number, not True"),
        ("[scan]\nfast = 'yes'\n", "fast in [scan] must be true or false, not 'yes'"),
        ("[scan]\nfast = \n", "line 2"),
        ("[scan]\nmodel = 'a.safetensors'\n", "model is only allowed in"),
        ("[scan]\ndescriber = 'x.onnx'\n", "describer is only allowed in"),
        ("#" * 70_000, "the limit for such a file"),
        ("[scan]\na = " + "[" * 5000, "not a readable TOML file"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(film, text, says):
    path = write(film.parent / NAME, text)
    said = castlist("scan", film, code=2).stderr
    assert f"castlist: {path}: " in said
    assert says in said
    assert not film.with_suffix(".cast").exists()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("threads = 1000000", "the number of threads must be 1 to 1,024, not 1000000"),
        (f"threads = 1{'0' * 5000}", "not a readable TOML file"),
        (f"min-face = 1{'0' * 400}", "min-face in [scan] is too large a number"),
        ("min-face = 1000000", "the smallest face must be 1 to 10,000 pixels wide"),
        (f"sample-rate = 1{'0' * 400}", "sample-rate in [scan] is too large a number"),
        ("sample-rate = nan", "--sample-rate"),
        ("sample-rate = inf", "the sample rate must be above 0 and at most 1,000"),
        ("min-score = nan", "--min-score"),
    ],
    ids=lambda text: text[:20],
)
def test_a_number_that_no_machine_can_do_is_refused(film, setting, says):
    path = write(film.parent / NAME, f"[scan]\n{setting}\n")
    said = castlist("scan", film, code=2).stderr
    assert says in said
    assert str(path) in said
    assert "Traceback" not in said
    assert not film.with_suffix(".cast").exists()


def test_a_number_out_of_range_is_refused_after_the_name_of_the_file(film):
    path = write(film.parent / NAME, "[scan]\nmin-face = 0\n")
    said = castlist("scan", film, code=2).stderr
    assert said.index(str(path)) < said.index("--min-face")


def test_the_users_own_file_may_name_a_model(film):
    write(user_file(), "[scan]\nmodel = 'missing.safetensors'\n")
    assert "missing.safetensors" in castlist("scan", film, code=2).stderr
    assert {"model", "describer", "detector"} == USER_ONLY


def test_videos_with_different_files_are_refused(film, tmp_path):
    path = write(film.parent / NAME, "[scan]\nfast = true\n")
    other = tmp_path / "other.mp4"
    other.write_bytes(film.read_bytes())
    said = castlist("scan", film, other, code=2).stderr
    assert f"{path} does not apply to all videos" in said
