"""The paper's base CNNs (sec. 4): SE-ResNet50-256 and ResNet50 of VGGFace2, as describers.

Layers, names and shapes are those of Oxford's PyTorch release (``senet50_256.py``) and of its twin
``resnet50_ft_dag.py``, so that their state dicts load as they are:

- Stride 2 sits in the first 1×1 convolution of a stage, as in Caffe, not in its 3×3 one.
- The first pooling has no padding and rounds its size up.
- SE-ResNet50-256 ends in ``feat_extract``, a 1×1 convolution without bias from the 2,048 pooled
  channels to 256, with nothing behind it. ResNet50's feature is what its classifier would see.
- Features are not normalised: what the network gives.

The release's ReadMe speaks of BGR, but it is Caffe's. These state dicts came over MatConvNet, which
turns the first layer around: their definitions list the mean in RGB order, and Oxford's own
``pytorch_feature_extractor.py`` feeds RGB. So RGB is the default; ``channels="BGR"`` is there for
weights whose first layer still is Caffe's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import cv2
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.errors import InputError

#: Length of a feature, by describer.
DIMS = {"SE-ResNet50-256": 256, "ResNet50": 2048}

Channels = Literal["RGB", "BGR"]

#: Mean of VGGFace2's training faces, of 255, as OpenCV orders channels.
_MEAN_BGR = np.array([91.4953, 103.8827, 131.0912], np.float32)
_SHORTER_SIDE, _SIZE = 256, 224
_COUNTER = ".num_batches_tracked"
#: Blocks of the stages conv2 to conv5.
_BLOCKS = (3, 4, 6, 3)


class VggFace2Net(nn.Module):
    """A 50-layer ResNet whose layers have the published, flat names.

    Parameters
    ----------
    squeeze : bool
        With squeeze-and-excitation.
    reduced : int or None
        Length of the reduced feature; None keeps the 2,048 of the pooling.
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
            if into != 4 * width:  # a stage's first block changes the shape
                self._convolution(f"{name}_1x1_proj", into, 4 * width, 1, stride)
        if reduced is not None:
            self.feat_extract = nn.Conv2d(2048, reduced, 1, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        """Map images of shape (n, 3, 224, 224) to features, (n, 256) or (n, 2048)."""
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


class VggFace2Describer:
    """Describes faces with a published VGGFace2 CNN.

    Parameters
    ----------
    path : path
        The published weights; see :func:`load_vggface2`.
    name : str
        ``"SE-ResNet50-256"`` or ``"ResNet50"``.
    device : str
        Where the network runs.
    batch_size : int
        Faces at once.
    channels : {"RGB", "BGR"}
        Order of the channels that the weights take; pictures are BGR whatever it is.

    Attributes
    ----------
    name : str
        Name of the base CNN.
    dim : int
        Length of a feature.
    """

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
            raise InputError(f"batch_size must be 1 or more, not {batch_size}")
        if channels not in get_args(Channels):
            raise InputError(f"channels are RGB or BGR, not {channels!r}")
        try:
            self._device = torch.device(device)
            self._net = load_vggface2(path, name).to(self._device)
        except (RuntimeError, AssertionError) as error:  # torch: no such device here
            raise InputError(f"device {device!r}: {_short(error)}") from error
        self.name, self.dim = name, DIMS[name]
        self._batch_size, self._channels = batch_size, channels

    def crop(
        self, image: NDArray[np.uint8], box: NDArray[np.floating], landmarks: object = None
    ) -> NDArray[np.uint8]:
        """Cut out a face with its whole head; landmarks are not needed."""
        x, y, width, height = extend_box(box, image.shape)
        return image[y : y + height, x : x + width].copy()  # not a view that keeps the picture

    def describe(self, crops: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Describe faces.

        Parameters
        ----------
        crops : sequence of uint8 arrays of shape (height, width, 3)
            BGR, cut out by :meth:`crop`.

        Returns
        -------
        float32 array of shape (n, dim)
            One feature a face.
        """
        features = np.empty((len(crops), self.dim), np.float32)
        for start in range(0, len(crops), self._batch_size):
            some = crops[start : start + self._batch_size]
            batch = torch.from_numpy(np.stack([as_input(one, self._channels) for one in some]))
            with torch.inference_mode():
                found = self._net(batch.to(self._device))
            features[start : start + len(some)] = found.cpu().numpy()
        return features


def build(name: str) -> VggFace2Net:
    """Build a VGGFace2 network with random weights: ``"SE-ResNet50-256"`` or ``"ResNet50"``."""
    if name not in DIMS:
        raise InputError(f"no VGGFace2 network {name!r}; there are {', '.join(DIMS)}")
    senet = name == "SE-ResNet50-256"
    return VggFace2Net(squeeze=senet, reduced=DIMS[name] if senet else None).eval()


def load_vggface2(path: str | Path, name: str) -> VggFace2Net:
    """Read a published VGGFace2 network.

    Parameters
    ----------
    path : path
        Its state dict: ``.pth``, ``.pt`` or ``.pth.tar`` of PyTorch, or ``.safetensors``. It may be
        wrapped in ``{"state_dict": …}``, its names may begin with ``module.``, and a classifier in
        it is left out.
    name : str
        ``"SE-ResNet50-256"`` or ``"ResNet50"``.
    """
    path = Path(path)
    with torch.device("meta"):  # shapes only: no need to draw weights that are then replaced
        net = build(name)
    tensors = _read(path)
    expected = net.state_dict()
    # Counters of training batches: the release has none, evaluation needs none.
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
        *_listed("not finite", [repr(n) for n, t in tensors.items() if not t.isfinite().all()]),
    ]
    if problems:
        raise InputError(f"{path}: not the VGGFace2 network {name}; tensors {'; '.join(problems)}")
    net.load_state_dict({n: t.float() for n, t in tensors.items()} | counters, assign=True)
    return net.eval()


def extend_box(
    box: ArrayLike, image_shape: Sequence[int], by: float = 0.3
) -> tuple[int, int, int, int]:
    """Extend a face's box, so that it has the whole head in it, and keep it inside the image.

    Parameters
    ----------
    box : (x, y, width, height)
        In pixels.
    image_shape : (height, width, ...)
        Shape of the image it is in.
    by : float
        Width and height grow by this share.

    Returns
    -------
    (x, y, width, height) : tuple of int
        Cut it out with ``image[y : y + height, x : x + width]``.
    """
    given = np.asarray(box, float).tolist()
    x, y, width, height = given
    if not all(map(math.isfinite, given)) or width <= 0 or height <= 0:
        raise InputError(f"a box is x, y, width and height, the last two above 0, not {given}")
    # VGGFace2's "extended by a factor 0.3 (except the extension outside image)": each side grows to
    # 1.3 times its length about the same centre, 0.15 at either end (Oxford's demo_ijbb.m).
    left, right = _inside(x, width, by, int(image_shape[1]))
    top, bottom = _inside(y, height, by, int(image_shape[0]))
    if left >= right or top >= bottom:
        raise InputError(
            f"the box {given} has no pixel in its image of {image_shape[1]} × {image_shape[0]}"
        )
    return left, top, right - left, bottom - top


def as_input(crop: NDArray[np.uint8], channels: Channels = "RGB") -> NDArray[np.float32]:
    """Turn the BGR crop of an extended box into the network's input, (3, 224, 224).

    The shorter side becomes 256, the middle 224 × 224 pixels stay, the training faces' mean goes.
    """
    if crop.dtype != np.uint8 or crop.ndim != 3 or crop.shape[2] != 3 or crop.size == 0:
        raise InputError(
            f"a crop is a uint8 array (height, width, 3), not {crop.dtype} of shape {crop.shape}"
        )
    scale = _SHORTER_SIDE / min(crop.shape[:2])
    height, width = (round(side * scale) for side in crop.shape[:2])
    resized = cv2.resize(crop, (width, height), interpolation=cv2.INTER_LINEAR)
    top, left = (height - _SIZE) // 2, (width - _SIZE) // 2
    middle = resized[top : top + _SIZE, left : left + _SIZE].astype(np.float32) - _MEAN_BGR
    if channels == "RGB":
        middle = middle[:, :, ::-1]
    return np.ascontiguousarray(middle.transpose(2, 0, 1))


def _blocks() -> Iterator[tuple[str, int, int, int]]:
    """Name, channels coming in, width and stride of every block."""
    into = 64
    for stage, n_blocks in enumerate(_BLOCKS, start=2):
        width = 64 * 2 ** (stage - 2)
        for i in range(1, n_blocks + 1):
            yield f"conv{stage}_{i}", into, width, 2 if i == 1 and stage > 2 else 1
            into = 4 * width


def _inside(start: float, length: float, by: float, limit: int) -> tuple[int, int]:
    """Both ends of an extended side, rounded, within 0 and the limit."""
    grown = length * by / 2
    return max(0, round(start - grown)), min(limit, round(start + length + grown))


def _read(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a state dict, without wrapping, prefix, classifier and counters."""
    if not path.is_file():
        raise InputError(f"{path}: no such file of VGGFace2 weights")
    found: Any
    try:
        if path.suffix == ".safetensors":
            found = load_file(path)
        elif path.name.endswith((".pth.tar", ".pth", ".pt")):
            # weights_only: a checkpoint from strangers must not run code. Oxford's first release,
            # a pickled module, is refused by it too.
            found = torch.load(path, map_location="cpu", weights_only=True)
        else:
            raise InputError(f"{path}: weights end in .pth, .pt, .pth.tar or .safetensors")
    except InputError:
        raise
    except Exception as error:  # a damaged or hostile pickle fails in many ways
        raise InputError(f"{path}: not a state dict of plain tensors ({_short(error)})") from error
    if isinstance(found, Mapping) and isinstance(found.get("state_dict"), Mapping):
        found = found["state_dict"]
    if not isinstance(found, Mapping) or not all(map(_is_plain, found.values())):
        raise InputError(f"{path}: not a state dict; it must map names to tensors")
    named = {str(n).removeprefix("module."): t for n, t in found.items()}
    return {
        n: t
        for n, t in named.items()
        if not n.startswith("classifier.") and not n.endswith(_COUNTER)
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided


def _listed(what: str, names: list[str]) -> list[str]:
    """Say what is wrong with which tensors, in at most three names; nothing where none is."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return [f"{what}: {', '.join(names[:3])}{more}"] if names else []


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
