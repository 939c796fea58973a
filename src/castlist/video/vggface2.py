"""The base CNNs of the paper (sec. 4): SE-ResNet50-256 and ResNet50 of VGGFace2, as describers.

Layers, names and shapes are those of Oxford's PyTorch release (``senet50_256.py``) and of its twin
``resnet50_ft_dag.py``, so that their state dicts load unchanged:

- Stride 2 is in the first 1×1 convolution of a stage, as in Caffe, not in its 3×3 convolution.
- The first pooling has no padding and rounds its size up.
- SE-ResNet50-256 ends in ``feat_extract``, a 1×1 convolution without bias from the 2,048 pooled
  channels to 256. ResNet50's feature is the input of its classifier.

Features are not normalised.

The ReadMe of the release specifies BGR, but for the Caffe models. The state dicts were converted by
way of MatConvNet, which reverses the first layer: their definitions list the mean in RGB order, and
Oxford's own ``pytorch_feature_extractor.py`` uses RGB. So RGB is the default; ``channels="BGR"`` is
for weights with the first layer of Caffe.

This module needs PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import cv2
import numpy as np
import safetensors.torch
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.errors import InputError, first_line
from castlist.io.untrusted import read_small
from castlist.model.model_file import is_stored_whole

Channels = Literal["RGB", "BGR"]

#: Length of a feature, by network.
DIMS = {"SE-ResNet50-256": 256, "ResNet50": 2048}

# Mean of VGGFace2's training faces, 0 to 255, in BGR order.
_MEAN_BGR = np.array([91.4953, 103.8827, 131.0912], np.float32)
_SHORTER_SIDE, _SIZE = 256, 224
_MAX_BYTES = 2**30  # of a file of weights: many times the size of the published ones
_COUNTER = ".num_batches_tracked"
_BLOCKS = (3, 4, 6, 3)  # number of blocks of the stages conv2 to conv5


class VggFace2Describer:
    """Describe faces with a published VGGFace2 network.

    Parameters
    ----------
    path : path
        The published state dict; see :func:`load_vggface2`.
    name : str
        ``"SE-ResNet50-256"`` or ``"ResNet50"``.
    device : str
        PyTorch device that runs the network.
    batch_size : int
        Number of faces per batch.
    channels : {"RGB", "BGR"}
        Channel order of the network. Images passed to the methods are always BGR.

    Attributes
    ----------
    name : str
        Name of the network.
    dim : int
        Length of a feature.
    """

    aligned = False

    def __init__(
        self,
        path: str | Path,
        name: str = "SE-ResNet50-256",
        device: str = "cpu",
        batch_size: int = 16,
        *,
        channels: Channels = "RGB",
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {batch_size}")
        if channels not in get_args(Channels):
            raise InputError(f"channels must be RGB or BGR, not {channels!r}")
        try:
            self._net = load_vggface2(path, name).to(device)
        except (RuntimeError, AssertionError) as error:  # PyTorch has no such device
            raise InputError(f"device {device!r}: {first_line(error)}") from error
        self.name, self.dim = name, DIMS[name]
        self._batch_size, self._channels = batch_size, channels

    def crop(
        self, image: NDArray[np.uint8], box: NDArray[np.floating], landmarks: object = None
    ) -> NDArray[np.uint8]:
        """Return the face with the whole head; landmarks are ignored."""
        x, y, width, height = extend_box(box, image.shape)
        return image[y : y + height, x : x + width].copy()  # a view keeps the image

    def describe(self, crops: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return the features of faces.

        Parameters
        ----------
        crops : sequence of uint8 arrays of shape (height, width, 3)
            BGR images made by :meth:`crop`.

        Returns
        -------
        float32 array of shape (n, dim)
            One feature per face.
        """
        features = np.empty((len(crops), self.dim), np.float32)
        for start in range(0, len(crops), self._batch_size):
            some = crops[start : start + self._batch_size]
            batch = np.stack([as_input(one, self._channels) for one in some])
            features[start : start + len(some)] = self._net.features(batch)
        return features


def extend_box(
    box: ArrayLike, image_shape: Sequence[int], by: float = 0.3
) -> tuple[int, int, int, int]:
    """Return a face's box extended to the whole head, clipped to the image.

    Parameters
    ----------
    box : (x, y, width, height)
        Box in pixels.
    image_shape : (height, width, ...)
        Shape of the image.
    by : float
        Share by which width and height grow.

    Returns
    -------
    (x, y, width, height) : tuple of int
        Crop with ``image[y : y + height, x : x + width]``.
    """
    given = np.asarray(box, float).tolist()
    x, y, width, height = given
    if not all(map(math.isfinite, given)) or width <= 0 or height <= 0:
        raise InputError(f"a box is x, y, width > 0, height > 0, not {given}")
    # VGGFace2's "extended by a factor 0.3 (except the extension outside image)": each side grows to
    # 1.3 times its length about the same centre, 0.15 at either end (Oxford's demo_ijbb.m).
    left, right = _inside(x, width, by, int(image_shape[1]))
    top, bottom = _inside(y, height, by, int(image_shape[0]))
    if left >= right or top >= bottom:
        raise InputError(
            f"the box {given} is outside the image of {image_shape[1]} × {image_shape[0]} pixels"
        )
    return left, top, right - left, bottom - top


def as_input(crop: NDArray[np.uint8], channels: Channels = "RGB") -> NDArray[np.float32]:
    """Return the network's input, of shape (3, 224, 224), for the BGR crop of an extended box.

    The shorter side is scaled to 256 pixels, the central 224 × 224 pixels are kept, and the mean of
    the training faces is subtracted.
    """
    if crop.dtype != np.uint8 or crop.ndim != 3 or crop.shape[2] != 3 or crop.size == 0:
        raise InputError(
            f"a crop must be a uint8 array of shape (height, width, 3), "
            f"not {crop.dtype} {crop.shape}"
        )
    scale = _SHORTER_SIDE / min(crop.shape[:2])
    height, width = (round(side * scale) for side in crop.shape[:2])
    resized = cv2.resize(crop, (width, height), interpolation=cv2.INTER_LINEAR)
    top, left = (height - _SIZE) // 2, (width - _SIZE) // 2
    middle = resized[top : top + _SIZE, left : left + _SIZE].astype(np.float32) - _MEAN_BGR
    if channels == "RGB":
        middle = middle[:, :, ::-1]
    return np.ascontiguousarray(middle.transpose(2, 0, 1))


def _inside(start: float, length: float, by: float, limit: int) -> tuple[int, int]:
    """Return both ends of an extended side, rounded and clipped to 0 and the limit."""
    grown = length * by / 2
    return max(0, round(start - grown)), min(limit, round(start + length + grown))


class VggFace2Net(nn.Module):
    """A 50-layer ResNet with the published, flat layer names.

    Parameters
    ----------
    squeeze : bool
        Whether blocks have squeeze-and-excitation.
    reduced : int or None
        Length of the reduced feature; None for the 2,048 pooled channels.
    """

    def __init__(self, *, squeeze: bool, reduced: int | None) -> None:
        super().__init__()
        self._convolution("conv1_7x7_s2", 3, 64, 7, stride=2)
        for name, into, width, stride in _blocks():
            self._convolution(f"{name}_1x1_reduce", into, width, 1, stride)
            self._convolution(f"{name}_3x3", width, width, 3)
            self._convolution(f"{name}_1x1_increase", width, 4 * width, 1)
            if squeeze:
                self.add_module(f"{name}_1x1_down", nn.Conv2d(4 * width, width // 4, 1))
                self.add_module(f"{name}_1x1_up", nn.Conv2d(width // 4, 4 * width, 1))
            if into != 4 * width:  # the first block of a stage changes the shape
                self._convolution(f"{name}_1x1_proj", into, 4 * width, 1, stride)
        if reduced is not None:
            self.feat_extract = nn.Conv2d(2048, reduced, 1, bias=False)

    @torch.inference_mode()
    def features(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features of images, as NumPy arrays, on any device."""
        device = self.get_parameter("conv1_7x7_s2.weight").device
        found: NDArray[np.float32] = self(torch.from_numpy(images).to(device)).cpu().numpy()
        return found

    def forward(self, images: Tensor) -> Tensor:
        """Return the features, (n, 256) or (n, 2048), of images of shape (n, 3, 224, 224)."""
        x = self._normed("conv1_7x7_s2", images).relu_()
        x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        for name, *_ in _blocks():
            x = self._block(name, x)
        x = F.avg_pool2d(x, 7, 1)
        if "feat_extract" in self._modules:
            x = self.feat_extract(x)
        return x.flatten(1)

    def _block(self, name: str, x: Tensor) -> Tensor:
        y = self._normed(f"{name}_1x1_reduce", x).relu_()
        y = self._normed(f"{name}_3x3", y).relu_()
        y = self._normed(f"{name}_1x1_increase", y)
        if f"{name}_1x1_down" in self._modules:
            gate = self._apply_named(f"{name}_1x1_down", F.adaptive_avg_pool2d(y, 1)).relu_()
            y = y * self._apply_named(f"{name}_1x1_up", gate).sigmoid_()
        if f"{name}_1x1_proj" in self._modules:
            x = self._normed(f"{name}_1x1_proj", x)
        return (x + y).relu_()

    def _convolution(self, name: str, into: int, out: int, kernel: int, stride: int = 1) -> None:
        self.add_module(name, nn.Conv2d(into, out, kernel, stride, kernel // 2, bias=False))
        self.add_module(f"{name}_bn", nn.BatchNorm2d(out, eps=1e-5))

    def _normed(self, name: str, x: Tensor) -> Tensor:
        return self._apply_named(f"{name}_bn", self._apply_named(name, x))

    def _apply_named(self, name: str, x: Tensor) -> Tensor:
        y: Tensor = self.get_submodule(name)(x)
        return y


def build(name: str) -> VggFace2Net:
    """Return ``"SE-ResNet50-256"`` or ``"ResNet50"`` with random weights."""
    if name not in DIMS:
        raise InputError(f"unknown VGGFace2 network {name!r}; choose from {', '.join(DIMS)}")
    senet = name == "SE-ResNet50-256"
    return VggFace2Net(squeeze=senet, reduced=DIMS[name] if senet else None).eval()


def load_vggface2(path: str | Path, name: str) -> VggFace2Net:
    """Return a published VGGFace2 network, read from a state dict.

    Parameters
    ----------
    path : path
        A ``.pth``, ``.pt`` or ``.pth.tar`` file of PyTorch, or a ``.safetensors`` file. The state
        dict may be wrapped in ``{"state_dict": …}``, and its names may begin with ``module.``. The
        classifier is ignored.
    name : str
        ``"SE-ResNet50-256"`` or ``"ResNet50"``.
    """
    path = Path(path)
    with torch.device("meta"):  # shapes only: the weights are replaced anyway
        net = build(name)
    tensors = _read(path)
    expected = net.state_dict()
    # The release has no counters of training batches, and evaluation needs none.
    counters = {n: torch.tensor(0) for n in expected if n.endswith(_COUNTER)}
    expected = {n: t for n, t in expected.items() if n not in counters}
    problems = [
        *_listed("missing", [repr(n) for n in expected if n not in tensors]),
        *_listed("unexpected", [repr(n) for n in tensors if n not in expected]),
        *_listed(
            "of another shape",
            [
                f"{n!r} (expected {tuple(t.shape)}, got {tuple(tensors[n].shape)})"
                for n, t in expected.items()
                if n in tensors and tensors[n].shape != t.shape
            ],
        ),
    ]
    if not problems:  # after the check of shapes: an unexpected tensor may have any size
        problems = _listed(
            "not finite", [repr(n) for n, t in tensors.items() if not t.isfinite().all()]
        )
    if problems:
        raise InputError(f"{path}: not the VGGFace2 network {name}; tensors {'; '.join(problems)}")
    net.load_state_dict({n: t.float() for n, t in tensors.items()} | counters, assign=True)
    return net.eval()


def _blocks() -> Iterator[tuple[str, int, int, int]]:
    """Yield name, input channels, width and stride of every block."""
    into = 64
    for stage, n_blocks in enumerate(_BLOCKS, start=2):
        width = 64 * 2 ** (stage - 2)
        for i in range(1, n_blocks + 1):
            yield f"conv{stage}_{i}", into, width, 2 if i == 1 and stage > 2 else 1
            into = 4 * width


def _read(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a state dict without wrapping, prefix, classifier and counters."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    found: Any
    try:
        if path.suffix == ".safetensors":
            found = safetensors.torch.load(read_small(path, _MAX_BYTES))
        elif path.name.endswith((".pth.tar", ".pth", ".pt")):
            # weights_only: a file from a stranger must not run code. This also refuses Oxford's
            # first release, which is a pickled module.
            found = torch.load(path, map_location="cpu", weights_only=True)
        else:
            raise InputError(f"{path}: not a .pth, .pt, .pth.tar or .safetensors file")
    except InputError:
        raise
    except Exception as error:  # a damaged or malicious pickle raises anything
        raise InputError(
            f"{path}: not a state dict of plain tensors ({first_line(error)})"
        ) from error
    if isinstance(found, Mapping) and isinstance(found.get("state_dict"), Mapping):
        found = found["state_dict"]
    if not isinstance(found, Mapping) or not all(map(is_stored_whole, found.values())):
        raise InputError(f"{path}: not a state dict; it must map names to tensors")
    named = {str(n).removeprefix("module."): t for n, t in found.items()}
    return {
        n: t
        for n, t in named.items()
        if not n.startswith("classifier.") and not n.endswith(_COUNTER)
    }


def _listed(what: str, names: list[str]) -> list[str]:
    """Return a problem with at most three of the tensors that have it; empty if none has."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return [f"{what}: {', '.join(names[:3])}{more}"] if names else []
