from __future__ import annotations

import os
import pickle
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from castlist import InputError
from castlist.video.describe import Describer
from castlist.video.vggface2 import (
    DIMS,
    VggFace2Describer,
    as_input,
    build,
    extend_box,
    load_vggface2,
)

NAMES = ["SE-ResNet50-256", "ResNet50"]
#: Stage, blocks, channels in, width, channels out, stride and squeezed channels, from the public
#: definitions: senet50_256.py (stresearch/xfr) and resnet50_ft_dag.py (GusttavoOliveira).
STAGES = [
    (2, 3, 64, 64, 256, 1, 16),
    (3, 4, 256, 128, 512, 2, 32),
    (4, 6, 512, 256, 1024, 2, 64),
    (5, 3, 1024, 512, 2048, 2, 128),
]


def published(name):
    """Names and shapes of the published state dict, classifier left out."""
    convolutions, shapes = {"conv1_7x7_s2": (64, 3, 7, 7)}, {}
    for stage, n_blocks, first, width, out, _, squeezed in STAGES:
        for i in range(1, n_blocks + 1):
            block, into = f"conv{stage}_{i}", first if i == 1 else out
            convolutions[f"{block}_1x1_reduce"] = (width, into, 1, 1)
            convolutions[f"{block}_3x3"] = (width, width, 3, 3)
            convolutions[f"{block}_1x1_increase"] = (out, width, 1, 1)
            if i == 1:
                convolutions[f"{block}_1x1_proj"] = (out, into, 1, 1)
            if name == "SE-ResNet50-256":
                shapes[f"{block}_1x1_down.weight"] = (squeezed, out, 1, 1)
                shapes[f"{block}_1x1_down.bias"] = (squeezed,)
                shapes[f"{block}_1x1_up.weight"] = (out, squeezed, 1, 1)
                shapes[f"{block}_1x1_up.bias"] = (out,)
    for convolution, shape in convolutions.items():
        shapes[f"{convolution}.weight"] = shape
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{convolution}_bn.{part}"] = shape[:1]
    if name == "SE-ResNet50-256":
        shapes["feat_extract.weight"] = (256, 2048, 1, 1)
    return shapes


def made_weights(name):
    """A state dict of the published names and shapes."""
    random = torch.Generator().manual_seed(7)
    tensors = {}
    for n, shape in published(name).items():
        draw = torch.randn(shape, generator=random)
        if len(shape) == 4:
            tensors[n] = draw * (2 / (shape[1] * shape[2] * shape[3])) ** 0.5
        elif n.endswith(("running_var", "bn.weight")):
            tensors[n] = 0.5 + draw.abs() / 2
        else:
            tensors[n] = draw / 4
        if n.endswith("increase_bn.weight"):
            tensors[n] *= 0.2  # else 16 sums of random layers make much of a float's last digit
    # The first layer sees pixels, not unit variance.
    tensors["conv1_7x7_s2_bn.running_var"] *= 5000
    return tensors


def by_hand(name, w, x):
    """The published forward, layer by layer, from the tensors alone."""

    def normed(conv, x, stride=1, padding=0):
        x = F.conv2d(x, w[f"{conv}.weight"], stride=stride, padding=padding)
        scale = w[f"{conv}_bn.weight"] / (w[f"{conv}_bn.running_var"] + 1e-5).sqrt()
        shift = w[f"{conv}_bn.bias"] - w[f"{conv}_bn.running_mean"] * scale
        return x * scale[:, None, None] + shift[:, None, None]

    x = normed("conv1_7x7_s2", x, 2, 3).clamp(min=0)
    assert x.shape[2:] == (112, 112)
    # kernel 3, stride 2, no padding, size rounded up: one more row and column at the far ends
    x = F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=-torch.inf), 3, 2)
    for stage, n_blocks, _, _, _, stride, _ in STAGES:
        for i in range(1, n_blocks + 1):
            block, step = f"conv{stage}_{i}", stride if i == 1 else 1
            y = normed(f"{block}_1x1_reduce", x, step).clamp(min=0)
            y = normed(f"{block}_3x3", y, 1, 1).clamp(min=0)
            y = normed(f"{block}_1x1_increase", y)
            if name == "SE-ResNet50-256":
                gate = y.mean((2, 3)) @ w[f"{block}_1x1_down.weight"][:, :, 0, 0].T
                gate = (gate + w[f"{block}_1x1_down.bias"]).clamp(min=0)
                gate = gate @ w[f"{block}_1x1_up.weight"][:, :, 0, 0].T + w[f"{block}_1x1_up.bias"]
                y = y / (1 + (-gate).exp())[:, :, None, None]
            x = y + (normed(f"{block}_1x1_proj", x, step) if i == 1 else x)
            x = x.clamp(min=0)
    assert x.shape[1:] == (2048, 7, 7)
    pooled = x.mean((2, 3))
    return pooled @ w["feat_extract.weight"][:, :, 0, 0].T if "feat_extract.weight" in w else pooled


@pytest.fixture(scope="module")
def weights():
    return {name: made_weights(name) for name in NAMES}


@pytest.fixture(scope="module")
def files(weights, tmp_path_factory):
    """Both networks on disk: one plain, one wrapped, prefixed and with its classifier."""
    folder = tmp_path_factory.mktemp("vggface2")
    torch.save(weights["SE-ResNet50-256"], folder / "senet50_256.pth")
    more = {**weights["ResNet50"], "classifier.weight": torch.ones(9, 2048, 1, 1)}
    more |= {
        "classifier.bias": torch.ones(9),
        "conv2_1_3x3_bn.num_batches_tracked": torch.tensor(5),
    }
    wrapped = {"epoch": 3, "state_dict": {f"module.{n}": t for n, t in more.items()}}
    torch.save(wrapped, folder / "resnet50_ft_dag.pth.tar")
    return {NAMES[0]: folder / "senet50_256.pth", NAMES[1]: folder / "resnet50_ft_dag.pth.tar"}


@pytest.fixture(scope="module")
def crops():
    random = np.random.default_rng(0)
    shapes = [(256, 256, 3), (90, 70, 3), (300, 420, 3)]
    return [random.integers(0, 256, shape, np.uint8) for shape in shapes]


@pytest.mark.parametrize("name", NAMES)
def test_names_and_shapes_are_the_published_ones(name):
    tensors = build(name).state_dict()
    kept = {n: tuple(t.shape) for n, t in tensors.items() if "num_batches_tracked" not in n}
    assert kept == published(name)
    # 330 tensors under these names, in PyTorch's old file format, make the published file's size.
    assert len(kept) == {"SE-ResNet50-256": 330, "ResNet50": 265}[name]


def test_size_of_the_papers_network():
    n_weights = sum(p.numel() for p in build("SE-ResNet50-256").parameters())
    assert n_weights == 26_563_312  # the paper's table: 26.5M


def test_names_of_a_few_layers_letter_by_letter():
    tensors = build("SE-ResNet50-256").state_dict()
    for name, shape in {
        "conv1_7x7_s2.weight": (64, 3, 7, 7),
        "conv1_7x7_s2_bn.running_mean": (64,),
        "conv2_1_1x1_reduce.weight": (64, 64, 1, 1),
        "conv2_1_1x1_reduce_bn.running_mean": (64,),
        "conv2_1_1x1_down.weight": (16, 256, 1, 1),
        "conv2_1_1x1_up.bias": (256,),
        "conv3_1_1x1_proj.weight": (512, 256, 1, 1),
        "conv4_6_3x3.weight": (256, 256, 3, 3),
        "conv5_3_1x1_increase_bn.weight": (2048,),
        "feat_extract.weight": (256, 2048, 1, 1),
    }.items():
        assert tuple(tensors[name].shape) == shape, name
    assert "feat_extract.bias" not in tensors
    assert "conv2_2_1x1_proj.weight" not in tensors


@pytest.mark.parametrize("name", NAMES)
def test_published_weights_give_what_they_give_by_hand(name, weights, files, crops):
    image = torch.from_numpy(as_input(crops[1]))[None]
    net = load_vggface2(files[name], name)
    assert not net.training
    with torch.inference_mode():
        feature = net(image).numpy()
        hand = by_hand(name, weights[name], image).numpy()
    assert feature.shape == (1, DIMS[name])
    assert hand.std() > 0.01
    np.testing.assert_allclose(feature, hand, rtol=1e-3, atol=1e-3 * hand.std())


def test_describer(files, crops):
    describer: Describer = VggFace2Describer(files["SE-ResNet50-256"], batch_size=2)
    picture = np.random.default_rng(2).integers(0, 256, (400, 600, 3), np.uint8)
    face = describer.crop(picture, np.array([100, 100, 100, 200], np.float32), np.zeros((5, 2)))
    np.testing.assert_array_equal(face, picture[70:330, 85:215])
    assert (describer.name, describer.dim) == ("SE-ResNet50-256", 256)
    features = describer.describe(crops)
    assert features.shape == (3, 256)
    assert features.dtype == np.float32
    single = describer.describe(crops[1:2])
    np.testing.assert_allclose(features[1:2], single, rtol=1e-3, atol=1e-3 * single.std())
    assert describer.describe([]).shape == (0, 256)


@pytest.mark.parametrize("channels", ["RGB", "BGR"])
def test_describer_hands_on_channels_as_the_weights_take_them(channels, files, crops, monkeypatch):
    describer = VggFace2Describer(files["ResNet50"], "ResNet50", channels=channels)
    seen = []
    net = SimpleNamespace(features=lambda x: seen.append(x) or np.zeros((len(x), 2048)))
    monkeypatch.setattr(describer, "_net", net)
    describer.describe(crops)
    expected = [as_input(crop, channels) for crop in crops]
    np.testing.assert_array_equal(seen[0], np.stack(expected))


def test_a_block_with_squeeze_and_excitation():
    torch.manual_seed(1)
    net = build("SE-ResNet50-256")
    x = torch.rand(2, 256, 5, 5)
    with torch.inference_mode():
        y = net._block("conv2_2", x).numpy()
        one = net.conv2_2_1x1_reduce_bn(net.conv2_2_1x1_reduce(x)).relu()
        two = net.conv2_2_3x3_bn(net.conv2_2_3x3(one)).relu()
        grown = net.conv2_2_1x1_increase_bn(net.conv2_2_1x1_increase(two)).numpy()
    w = {n: t.numpy() for n, t in net.state_dict().items()}
    squeezed = grown.mean((2, 3)) @ w["conv2_2_1x1_down.weight"][:, :, 0, 0].T
    squeezed = np.maximum(squeezed + w["conv2_2_1x1_down.bias"], 0)
    lifted = squeezed @ w["conv2_2_1x1_up.weight"][:, :, 0, 0].T + w["conv2_2_1x1_up.bias"]
    gate = 1 / (1 + np.exp(-lifted))
    np.testing.assert_allclose(
        y, np.maximum(gate[:, :, None, None] * grown + x.numpy(), 0), rtol=1e-4, atol=1e-5
    )


def test_input_is_the_middle_without_the_mean():
    crop = np.random.default_rng(0).integers(0, 256, (256, 300, 3), np.uint8)
    x = as_input(crop)
    assert x.shape == (3, 224, 224)
    assert x.dtype == np.float32
    assert x.flags.c_contiguous
    middle = crop[16:240, 38:262].astype(float)  # the shorter side is 256: nothing is resized
    np.testing.assert_allclose(x[0], middle[:, :, 2] - 131.0912, atol=1e-4)  # red, BGR's last
    np.testing.assert_allclose(x[1], middle[:, :, 1] - 103.8827, atol=1e-4)
    np.testing.assert_allclose(x[2], middle[:, :, 0] - 91.4953, atol=1e-4)
    np.testing.assert_array_equal(as_input(crop, "BGR"), x[::-1])


@pytest.mark.parametrize("shape", [(40, 80), (513, 411), (1, 1), (255, 257)])
def test_shorter_side_becomes_256(shape):
    crop = np.random.default_rng(1).integers(0, 256, (*shape, 3), np.uint8)
    scale = 256 / min(shape)
    height, width = round(shape[0] * scale), round(shape[1] * scale)
    assert min(height, width) == 256
    big = cv2.resize(crop, (width, height))
    top, left = (height - 224) // 2, (width - 224) // 2
    middle = big[top : top + 224, left : left + 224, ::-1].astype(float)
    expected = (middle - [131.0912, 103.8827, 91.4953]).transpose(2, 0, 1)
    np.testing.assert_allclose(as_input(crop), expected, atol=1e-4)


@pytest.mark.parametrize(
    "crop",
    [np.zeros((0, 5, 3), np.uint8), np.zeros((5, 5), np.uint8), np.zeros((5, 5, 3), np.float32)],
)
def test_what_is_no_crop(crop):
    with pytest.raises(InputError, match="a crop must be a uint8 array"):
        as_input(crop)


@pytest.mark.parametrize(
    ("box", "extended"),
    [
        ((100, 100, 100, 200), (85, 70, 130, 260)),  # 1.3 times as wide and high, same centre
        ((0, 0, 100, 100), (0, 0, 115, 115)),
        ((-20, 350, 100, 100), (0, 335, 95, 65)),
        ((10.4, 20.6, 20, 20), (7, 18, 26, 26)),
    ],
)
def test_extended_box(box, extended):
    assert extend_box(box, (400, 600, 3)) == extended


@pytest.mark.parametrize(
    "box", [(700, 10, 20, 20), (10, 10, 0, 5), (10, 10, 5, -5), (float("nan"), 1, 2, 3)]
)
def test_what_is_no_box(box):
    with pytest.raises(InputError, match="box"):
        extend_box(box, (400, 600))


def test_wrong_tensors_are_named(tmp_path):
    path = tmp_path / "some.pth"
    torch.save({"conv1_7x7_s2.weight": torch.ones(64, 1, 7, 7), "odd": torch.ones(2)}, path)
    with pytest.raises(InputError) as caught:
        load_vggface2(path, "SE-ResNet50-256")
    said = str(caught.value)
    assert "missing: 'conv1_7x7_s2_bn.weight'" in said
    assert "and 326 more" in said
    assert "unexpected: 'odd'" in said
    assert "'conv1_7x7_s2.weight' (expected (64, 3, 7, 7), got (64, 1, 7, 7))" in said


def test_one_network_is_not_the_other(files):
    with pytest.raises(InputError, match="missing: 'conv2_1_1x1_down.weight'.*and 62 more"):
        load_vggface2(files["ResNet50"], "SE-ResNet50-256")
    with pytest.raises(InputError, match="unexpected: .*_down.*and 62 more"):
        load_vggface2(files["SE-ResNet50-256"], "ResNet50")


def test_values_that_are_not_finite(weights, tmp_path):
    broken = {**weights["ResNet50"], "conv5_3_3x3_bn.bias": torch.full((512,), torch.nan)}
    save_file(broken, tmp_path / "nan.safetensors")
    with pytest.raises(InputError, match="not finite: 'conv5_3_3x3_bn.bias'"):
        load_vggface2(tmp_path / "nan.safetensors", "ResNet50")


class Hostile:
    def __reduce__(self):
        return os.makedirs, ("pwned",)


def test_a_pickle_with_code_is_refused_unrun(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": Hostile()}, "hostile.pth")
    with open("plain.pth", "wb") as file:
        pickle.dump(Hostile(), file, protocol=2)
    for path in ("hostile.pth", "plain.pth"):
        with pytest.raises(InputError, match="not a state dict of plain tensors"):
            load_vggface2(path, "ResNet50")
    assert not (tmp_path / "pwned").exists()


def test_files_that_are_no_weights(tmp_path):
    torch.save([1, 2], tmp_path / "list.pth")
    torch.save({"a": 1}, tmp_path / "numbers.pth")
    torch.save({"a": torch.eye(2).to_sparse()}, tmp_path / "sparse.pth")
    torch.save({"a": torch.zeros(1).expand(10**6, 10**6)}, tmp_path / "vast.pth")
    for name in ("cut.pth", "cut.pth.tar", "cut.safetensors", "weights.bin"):
        (tmp_path / name).write_bytes(b"not weights")
    for name, said in {
        "list.pth": "must map names to tensors",
        "numbers.pth": "must map names to tensors",
        "sparse.pth": "must map names to tensors",
        "vast.pth": "must map names to tensors",
        "cut.pth": "not a state dict of plain tensors",
        "cut.pth.tar": "not a state dict of plain tensors",
        "cut.safetensors": "not a state dict of plain tensors",
        "weights.bin": "not a .pth, ",
        "absent.pth": "no such file",
    }.items():
        with pytest.raises(InputError, match=said):
            load_vggface2(tmp_path / name, "ResNet50")


def test_settings_that_cannot_be(files):
    with pytest.raises(InputError, match="'VGG16'; choose from SE-ResNet50-256"):
        build("VGG16")
    path = files["ResNet50"]
    with pytest.raises(InputError, match="batch_size must be at least 1"):
        VggFace2Describer(path, "ResNet50", batch_size=0)
    with pytest.raises(InputError, match="channels must be RGB or BGR"):
        VggFace2Describer(path, "ResNet50", channels="GBR")
    with pytest.raises(InputError, match="device 'abacus'"):
        VggFace2Describer(path, "ResNet50", device="abacus")
