"""VGGFace2's networks: SE-ResNet50-256 and ResNet50, and their published state dicts.

Layers, names and shapes are those of Oxford's PyTorch release (``senet50_256.py``) and of its twin
``resnet50_ft_dag.py``, so that their state dicts load as they are:

- Stride 2 sits in the first 1×1 convolution of a stage, as in Caffe, not in its 3×3 one.
- The first pooling has no padding and rounds its size up.
- SE-ResNet50-256 ends in ``feat_extract``, a 1×1 convolution without bias from the 2,048 pooled
  channels to 256, with nothing behind it. ResNet50's feature is what its classifier would see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.errors import InputError, first_line
from castlist.io.untrusted import read_small
from castlist.learn.model_file import is_stored_whole

#: Length of a feature, by describer.
DIMS = {"SE-ResNet50-256": 256, "ResNet50": 2048}

_LARGEST = 2**30  # bytes of a file of weights: many times theirs
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

    @torch.inference_mode()
    def features(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features of images, wherever the network is."""
        device = self.get_parameter("conv1_7x7_s2.weight").device
        found: NDArray[np.float32] = self(torch.from_numpy(images).to(device)).cpu().numpy()
        return found

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
    ]
    if not problems:  # of tensors that are there: others may be of any size
        problems = _listed(
            "not finite", [repr(n) for n, t in tensors.items() if not t.isfinite().all()]
        )
    if problems:
        raise InputError(f"{path}: not the VGGFace2 network {name}; tensors {'; '.join(problems)}")
    net.load_state_dict({n: t.float() for n, t in tensors.items()} | counters, assign=True)
    return net.eval()


def _blocks() -> Iterator[tuple[str, int, int, int]]:
    """Name, channels coming in, width and stride of every block."""
    into = 64
    for stage, n_blocks in enumerate(_BLOCKS, start=2):
        width = 64 * 2 ** (stage - 2)
        for i in range(1, n_blocks + 1):
            yield f"conv{stage}_{i}", into, width, 2 if i == 1 and stage > 2 else 1
            into = 4 * width


def _read(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a state dict, without wrapping, prefix, classifier and counters."""
    if not path.is_file():
        raise InputError(f"{path}: no such file of VGGFace2 weights")
    found: Any
    try:
        if path.suffix == ".safetensors":
            found = safetensors.torch.load(read_small(path, _LARGEST))
        elif path.name.endswith((".pth.tar", ".pth", ".pt")):
            # weights_only: a checkpoint from strangers must not run code. Oxford's first release,
            # a pickled module, is refused by it too.
            found = torch.load(path, map_location="cpu", weights_only=True)
        else:
            raise InputError(f"{path}: weights end in .pth, .pt, .pth.tar or .safetensors")
    except InputError:
        raise
    except Exception as error:  # a damaged or hostile pickle fails in many ways
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
    """Say what is wrong with which tensors, in at most three names; nothing where none is."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return [f"{what}: {', '.join(names[:3])}{more}"] if names else []
