from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from scipy.io import savemat
from typer.testing import CliRunner

from castlist import InputError, cluster_tracks, load_model, read_tracks
from castlist.cli.app import app
from castlist.research import read_plan
from castlist.research.study.paper import COLUMNS, paper_values

VIDEOS = ("bbt_s01e01", "bbt_s01e02", "buffy_s05e01")
NAMES = ["leonard", "sheldon", "penny", "unknown_1"]
FIELDS = ("trackerId", "frames", "timestamps", "x", "y", "w", "h")


def facetracks(path, tracks):
    """Two tracks at a time share their frames."""
    records = np.empty(len(tracks), dtype=[(name, object) for name in FIELDS])
    for i, track in enumerate(tracks):
        frames = (np.arange(3) + 10 * (i // 2))[:, None].astype(float)
        box = np.full((3, 1), 5.0)
        values = {"trackerId": float(track), "frames": frames, "timestamps": frames / 25}
        records[i] = tuple(values.get(name, box) for name in FIELDS)
    savemat(path, {"FaceTracks": records[None]})


@pytest.fixture
def download(tmp_path):
    """A folder with the layout of the authors' download, of made features."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "BallClustering"
    (folder / "ids").mkdir(parents=True)
    (folder / "tracks").mkdir()
    people = rng.normal(size=(len(NAMES), 8))
    for video in VIDEOS:
        (folder / "features" / video).mkdir(parents=True)
        tracks = {str(i): NAMES[i % len(NAMES)] for i in range(24)}
        lines = ["CVHCI_TRACKLABELS_V1", *(f"{t} {name}" for t, name in tracks.items()), ""]
        (folder / "ids" / f"{video}.ids").write_text("\n".join(lines))
        for track, name in tracks.items():
            faces = people[NAMES.index(name)] + 0.3 * rng.normal(size=(3, 8))
            np.save(folder / "features" / video / f"{track}.npy", faces)
        facetracks(folder / "tracks" / f"{video}.facetracks.mat", list(tracks))
    torch.manual_seed(0)
    layers = [torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)]
    weights = {
        f"linears.{i}.{name}": getattr(layer, name).detach()
        for i, layer in enumerate(layers)
        for name in ("weight", "bias")
    }
    state = {"model_state": weights, "criterion_state": {"ctrd.h_bias": torch.tensor([-2.5])}}
    torch.save({**state, "epoch": 127}, folder / "model.ep-0127.pth.tar")
    return folder


@pytest.mark.slow
def test_one_command_prints_their_table_beside_the_papers(download, tmp_path):
    words = ["research", "study", str(download), "-o", str(tmp_path / "out"), "--quick"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    tracks, paper = read_tracks(download), paper_values()["test"]["ball"]
    model = load_model(download / "model.ep-0127.pth.tar")
    for i, name in enumerate(COLUMNS[:2]):
        found = cluster_tracks(tracks[tracks.video == i], model).n_clusters
        line = rf"\| {name} \| 4 \({paper_values()['statistics']['n_characters'][i]}\) \| "
        figures = rf"{found} \({paper['n_clusters'][i]}\) \| [\d.]+ \({paper['nmi'][i]:.1f}\)"
        assert re.search(line + figures, said.output), said.output
    assert "the authors' checkpoint, fine-tuned" in said.output
    assert (tmp_path / "out" / "index.html").is_file()


def test_the_plan_of_the_download(download):
    plan = read_plan(download)
    assert plan.tests[0].combined == {"BBT": "bbt_*", "BOTH": "*"}
    assert plan.tests[0].paper
    assert plan.methods[0].finetune
    assert plan.methods[0].own_threshold


def test_without_boxes_nothing_is_fine_tuned(download):
    for file in (download / "tracks").iterdir():
        file.unlink()
    assert not read_plan(download).methods[0].finetune


def test_features_of_other_faces_than_the_boxes(download):
    np.save(download / "features" / VIDEOS[0] / "0.npy", np.ones((2, 8)))
    plan = read_plan(download)
    assert (plan.tests[0].boxes, plan.methods[0].finetune) == (False, False)


def test_what_is_missing_is_named(download):
    (download / "model.ep-0127.pth.tar").unlink()
    with pytest.raises(InputError, match=r"needs one checkpoint \(\*.pth.tar\) in it, but has 0"):
        read_plan(download)
    with pytest.raises(InputError, match="neither a TOML plan nor the authors' download"):
        read_plan(download / "ids")
