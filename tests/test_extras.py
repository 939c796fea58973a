"""castlist without its optional packages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from castlist import BallModel, CastlistError, save_model, write_tracks
from castlist.extras import require
from datasets.synthetic_casts import episode, made_video, write_folder
from tests.programs import run_program

#: Runs what follows as if some packages were not installed.
WITHOUT = """
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())
"""


def without(*words, code=0, gone=("torch", "sklearn", "numba", "matplotlib")):
    """Run the program without some packages."""
    program = f"GONE = {gone}{WITHOUT}\nfrom castlist.cli import main\nmain()"
    return run_program("-c", program, *words, code=code)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extras")
    tracks = made_video()
    write_folder(folder / "film.cast", tracks)
    write_tracks(folder / "film.parquet", tracks)
    model = BallModel((16, 16), residual=True, rounds=2, reach=0.3, nearest=1.4, b_hat=-2.0)
    save_model(model, folder / "model.safetensors")
    (folder / "authors.pth.tar").write_bytes(b"x")
    (folder / "film.mp4").write_bytes(b"x")
    (folder / "plan.toml").write_text(
        'title = "t"\nmethods = ["base"]\n'
        '[[test]]\nname = "film"\ntracks = "film.parquet"\nvalidation = "film.parquet"\n'
    )
    return folder


def test_grouping_and_correcting_need_no_extra(home, tmp_path):
    tracks, cast = home / "film.parquet", home / "film.cast"
    done = without("cluster", tracks, "--model", home / "model.safetensors")
    assert "20 tracks, 4 characters" in done.stdout
    assert "3 characters" in without("merge", cast, "1", "3").stdout
    without("undo", cast)
    without("recluster", cast, "--yes")
    episodes = [episode(tmp_path, name, 3, seed=k) for k, name in enumerate(("e1", "e2"))]
    assert "3 characters" in without("join", *episodes, "-o", tmp_path / "all.cast").stdout
    without("report", cast)
    for to in ("csv", "json"):
        assert without("export", cast, "--to", to, "-o", "-").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("research train film.parquet -o run", "training needs PyTorch"),
        (
            "research finetune film.parquet -m model.safetensors -o x.safetensors",
            "fine-tuning needs PyTorch",
        ),
        ("cluster film.parquet -m authors.pth.tar", "a checkpoint of PyTorch needs PyTorch"),
        ("research study plan.toml -o study", "a study needs Matplotlib"),
        (
            "research evaluate film.parquet -m model.safetensors --figure x.png",
            "a figure needs Matplotlib",
        ),
        ("research stats film.parquet --figure x.png", "a figure needs Matplotlib"),
        ("research evaluate film.parquet -m model.safetensors", "scoring needs scikit-learn"),
    ],
)
def test_what_needs_an_extra_says_which(home, monkeypatch, words, says):
    monkeypatch.chdir(home)
    gone = ("sklearn",) if "scikit-learn" in says else ("torch", "matplotlib")
    said = without(*words.split(), code=2, gone=gone).stderr
    assert says in said
    extra = "sklearn" if "scikit-learn" in says else "research"
    assert f"which is not installed; pip install 'castlist[{extra}]'\n" in said


def test_the_library_says_it_too():
    program = f"""GONE = ("torch",){WITHOUT}
import castlist
from castlist import research

for needy in (lambda: research.BallLoss, lambda: castlist.open_describer("SE-ResNet50-256:x.pth")):
    try:
        needy()
    except castlist.CastlistError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8")
    assert done.stdout.splitlines() == [
        f"{what} needs PyTorch, which is not installed; pip install 'castlist[research]'"
        for what in ("a loss", "the describer SE-ResNet50-256")
    ], done.stderr


def test_what_is_installed_is_not_complained_about(monkeypatch):
    require("torch", "this")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(CastlistError, match=r"this needs Matplotlib, .*castlist\[research\]"):
        require("matplotlib", "this")
