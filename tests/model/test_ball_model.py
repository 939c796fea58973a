from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from castlist import BallModel, InputError, __version__, load_model, save_model, shipped_model
from castlist.model.model_file import FORMAT, read_tensors, write_tensors
from castlist.model.shipped import SHIPPED


def arithmetic(model, x):
    """φ as plain matrix arithmetic."""
    h = (x - model.mean) / model.scale
    layers = list(zip(model.weights, model.biases, strict=True))
    for weight, bias in layers[:-1]:
        h = np.maximum(h @ weight.T + bias, 0)
    h = h @ layers[-1][0].T + layers[-1][1]
    return h / np.linalg.norm(h, axis=1, keepdims=True) if model.normalise else h


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("dims", [(7, 3), (256, 256, 128, 64, 64), (5, 4, 3, 2, 6)])
def test_embeddings_are_plain_arithmetic(dims, normalise):
    model = BallModel(dims, normalise=normalise)
    rng = np.random.default_rng(0)
    model.standardise_by(rng.normal(size=dims[0]), rng.uniform(0.5, 2, dims[0]))
    x = rng.normal(size=(50, dims[0])).astype(np.float32)
    np.testing.assert_allclose(model.embed(x, batch=16), arithmetic(model, x), rtol=1e-4, atol=1e-5)


def test_the_papers_model():
    model = BallModel()
    assert model.dims == (256, 256, 128, 64, 64)
    assert round(model.n_weights / 1000) == 111  # table of embedding dimensions: 111K
    assert model.b == pytest.approx(math.log(1 + math.exp(0.1)))
    assert model.threshold == pytest.approx(4 * model.b)
    for dim, thousands in {256: 263, 128: 132, 32: 109, 16: 108, 8: 107}.items():
        hidden = {256: (256, 256, 256), 128: (256, 128, 128)}.get(dim, (256, 128, 64))
        assert abs(BallModel((256, *hidden, dim)).n_weights / 1000 - thousands) < 1


def test_a_saved_model_is_the_same_model(tmp_path):
    model = BallModel((6, 5, 4), normalise=False, describer="test")
    model.standardise_by(np.arange(6), np.arange(1, 7))
    model.settings, model.validation = {"seed": 3}, {"nmi": 0.5}
    save_model(model, tmp_path / "m.safetensors")
    back = load_model(tmp_path / "m.safetensors")
    x = np.random.default_rng(0).normal(size=(9, 6))
    np.testing.assert_array_equal(back.embed(x), model.embed(x))
    assert back.threshold == model.threshold
    assert (back.dims, back.normalise, back.describer) == ((6, 5, 4), False, "test")
    assert (back.settings, back.validation) == ({"seed": 3}, {"nmi": 0.5})
    with safe_open(tmp_path / "m.safetensors", "np") as file:
        about = json.loads(file.metadata()["castlist"])
    assert about["castlist"] == __version__
    assert about["threshold"] == pytest.approx(4 * about["b"])


@pytest.mark.posix
def test_models_are_written_to_the_file_that_is_held(tmp_path, monkeypatch):
    import fcntl

    path, seen, move = tmp_path / "m.safetensors", [], os.replace

    def replace(partial, to):
        with open(partial, "rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        seen.append(to)
        move(partial, to)

    monkeypatch.setattr(os, "replace", replace)
    before = os.umask(0o022)
    try:
        save_model(BallModel((6, 4)), path)
    finally:
        os.umask(before)
    assert seen == [path]
    assert path.stat().st_mode & 0o777 == 0o644  # others may read it


def test_a_model_of_any_size_is_not_read_whole(tmp_path):
    path = tmp_path / "m.safetensors"
    path.touch()
    os.truncate(path, 2**40)
    with pytest.raises(InputError, match=r"m\.safetensors: 1,099,511,627,776 bytes; "):
        load_model(path)


def test_bad_model_files_are_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    with pytest.raises(InputError, match="no such model file"):
        load_model(path)
    model = BallModel((6, 4))
    save_model(model, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(InputError, match="not a whole castlist safetensors file"):
        load_model(path)
    save_file({"x": np.zeros(2)}, path)
    with pytest.raises(InputError, match="not a whole castlist safetensors file"):
        load_model(path)
    about = {"format": FORMAT, "dims": [6, 5], "normalise": True, "describer": "", "settings": {}}
    save_file(model.tensors(), path, {"castlist": json.dumps({**about, "validation": {}})})
    with pytest.raises(InputError, match="not a castlist model"):
        load_model(path)
    save_file(model.tensors(), path, {"castlist": json.dumps({**about, "format": 99})})
    with pytest.raises(InputError, match="model format 99"):
        load_model(path)
    save_model(model, path)
    tensors, about = read_tensors(path)
    write_tensors(path, {**tensors, "b_hat": np.array(np.nan, np.float32)}, about)
    with pytest.raises(InputError, match="'b_hat' has values that are not finite"):
        load_model(path)


class Evil:
    def __reduce__(self):
        import os

        return os.system, ("echo never",)


def test_checkpoints_of_strangers_run_no_code(tmp_path):
    path = tmp_path / "evil.pth.tar"
    torch.save({"model_state": Evil()}, path)
    with pytest.raises(InputError, match="not the authors' checkpoint"):
        load_model(path)
    path.write_bytes(b"junk")
    with pytest.raises(InputError, match="not the authors' checkpoint"):
        load_model(path)
    torch.save({"epoch": 1}, path)
    with pytest.raises(InputError, match="not the authors' checkpoint"):
        load_model(path)


def test_the_authors_checkpoint(authors):
    (path,) = authors.glob("*.pth.tar")
    model = load_model(path)
    assert model.dims == (256, 256, 128, 64, 64)
    assert round(model.b, 4) == 0.2051
    assert model.threshold == pytest.approx(0.82042, abs=1e-5)
    assert model.settings["epoch"] == 127
    raw = torch.load(path, weights_only=True, map_location="cpu")["model_state"]
    x = np.random.default_rng(0).normal(size=(40, 256)).astype(np.float32)
    h = x.astype(np.float64)
    for i in range(4):
        h = (
            h @ raw[f"linears.{i}.weight"].double().numpy().T
            + raw[f"linears.{i}.bias"].double().numpy()
        )
        h = np.maximum(h, 0) if i < 3 else h
    expected = h / np.linalg.norm(h, axis=1, keepdims=True)
    np.testing.assert_allclose(model.embed(x), expected, atol=2e-6)


@pytest.mark.parametrize("describer", SHIPPED)
def test_every_shipped_model_loads(describer):
    model = shipped_model(describer)
    assert model.describer == describer
    assert model.rounds > 0
    assert 0 < model.threshold < 2
    assert model.settings["loss"] == "ball"
    x = np.random.default_rng(0).normal(size=(5, model.dims[0]))
    np.testing.assert_allclose(np.linalg.norm(model.embed(x), axis=1), 1, rtol=1e-5)


def test_there_is_no_shipped_model_for_other_features():
    with pytest.raises(InputError, match="comes with no model for features of x; train one"):
        shipped_model("x")


def test_features_of_the_wrong_kind_are_refused():
    model = BallModel((6, 4), describer="SFace")
    with pytest.raises(InputError, match=r"takes 6-d features of SFace, not .*\(2, 5\)"):
        model.embed(np.ones((2, 5)))
    with pytest.raises(InputError, match="row 1 is not finite"):
        model.embed([[1.0] * 6, [np.inf] * 6])
    with pytest.raises(InputError, match="two or more positive numbers"):
        BallModel((6,))
    assert model.embed(np.empty((0, 6))).shape == (0, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"dims": [6, 10**9]},  # room is not made for what is not there
        {"dims": [6, 10**400]},
        {"dims": [40_000, 40_000, 4]},
        {"rounds": 10**9},  # nor is it averaged for ever
        {"rounds": -1},
        {"reach": float("nan")},
        {"operating": float("nan")},
        {"operating": -1.0},
        {"settings": 3},
    ],
)
def test_metadata_that_lies(tmp_path, change):
    path = tmp_path / "m.safetensors"
    save_model(BallModel((6, 4)), path)
    with safe_open(path, "np") as file:
        about = json.loads(file.metadata()["castlist"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, {"castlist": json.dumps({**about, **change})})
    with pytest.raises(InputError, match="not a castlist model"):
        load_model(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "null", "7"])
def test_metadata_that_is_none(tmp_path, text):
    path = tmp_path / "m.safetensors"
    save_file(BallModel((6, 4)).tensors(), path, {"castlist": text})
    with pytest.raises(InputError, match="not a whole castlist safetensors file"):
        load_model(path)


@pytest.mark.parametrize(
    "weights",
    [
        torch.zeros(2_000_000),
        {"linears.0.weight": torch.zeros(1).expand(9**5, 9**5), "linears.0.bias": torch.ones(1)},
        {"linears.0.weight": torch.zeros(40_000, 1), "linears.0.bias": torch.zeros(40_000),
         "linears.1.weight": torch.zeros(40_000, 1), "linears.1.bias": torch.zeros(40_000)},
        {"linears.0.weight": torch.zeros(4, 6, device="meta"), "linears.0.bias": torch.zeros(4)},
    ],
)  # fmt: skip
def test_checkpoints_that_say_more_than_they_hold(tmp_path, weights):
    path = tmp_path / "m.pth.tar"
    b_hat = {"ctrd.h_bias": torch.tensor(0.1)}
    torch.save({"model_state": weights, "criterion_state": b_hat, "epoch": 1}, path)
    with pytest.raises(InputError, match="not the authors' checkpoint"):
        load_model(path)
