from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from castlist import InputError
from castlist.video.describe import DEFAULT_DESCRIBER, open_describer
from castlist.video.weights import fetch

RNG = np.random.default_rng(0)
FACES = [RNG.integers(0, 255, (112, 112, 3), np.uint8) for _ in range(5)]


def write_model(path, batch, side=112, *more):
    """A describer that averages each channel: RGB, (x − 127.5) / 127.5."""
    graph = helper.make_graph(
        [helper.make_node("GlobalAveragePool", ["face"], ["mean"]),
         helper.make_node("Flatten", ["mean"], ["feature" if not more else "flat"]), *more],
        "mean",
        [helper.make_tensor_value_info("face", TensorProto.FLOAT, [batch, 3, side, side])],
        [helper.make_tensor_value_info("feature", TensorProto.FLOAT, [batch, 3])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def test_the_default_describer_is_its_onnx_file():
    describer = open_describer()
    assert describer.name == "SFace-TV"
    session = onnxruntime.InferenceSession(str(fetch(DEFAULT_DESCRIBER)))
    rgb = np.stack(FACES)[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    expected = session.run(None, {"data": rgb})[0]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert (describer.describe(FACES) * expected).sum(axis=1).min() > 0.999  # some of it in bytes


@pytest.mark.parametrize("batch", [1, "n"])
def test_an_onnx_file_gets_rgb_between_minus_one_and_one(tmp_path, batch):
    describer = open_describer(str(write_model(tmp_path / "mean.onnx", batch)))
    assert describer.name == "mean"
    means = np.array([f[..., ::-1].mean((0, 1)) / 127.5 - 1 for f in FACES])
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(describer.describe(FACES), expected, atol=1e-4)
    assert len(describer.describe([])) == 0


def test_a_missing_device_is_an_error(tmp_path):
    path = write_model(tmp_path / "mean.onnx", 1)
    with pytest.raises(InputError, match="unknown device 'tpu'; choose from cpu, cuda"):
        open_describer(str(path), "tpu")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with pytest.raises(InputError, match="'cuda': onnxruntime has no CUDA"):
            open_describer(str(path), "cuda")


def test_files_that_are_no_describer_are_refused(tmp_path):
    with pytest.raises(InputError, match="not \\(any or 1, 3, 112, 112\\)"):
        open_describer(str(write_model(tmp_path / "large.onnx", 1, side=224)))
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(InputError, match="the ONNX model cannot be run"):
        open_describer(str(tmp_path / "text.onnx"))
    with pytest.raises(InputError, match="no such file"):
        open_describer(str(tmp_path / "none.onnx"))
    for batch in (0, 10**9):
        with pytest.raises(InputError, match="batch.onnx: the (network takes|ONNX model)"):
            open_describer(str(write_model(tmp_path / "batch.onnx", batch)))
    log = helper.make_node("Log", ["flat"], ["feature"])  # of what is 0 or less
    with pytest.raises(InputError, match="the features are not finite"):
        open_describer(str(write_model(tmp_path / "log.onnx", 1, 112, log)))
    missing = helper.make_node("Reshape", ["flat", "flat"], ["feature"])
    with pytest.raises(InputError, match="the ONNX model cannot be run"):
        open_describer(str(write_model(tmp_path / "reshape.onnx", 1, 112, missing)))
    with pytest.raises(InputError, match="unknown describer 'resnet'; choose from sface-tv"):
        open_describer("resnet")
    with pytest.raises(InputError, match="no such"):
        open_describer(f"ResNet50:{tmp_path}/none.pth")
