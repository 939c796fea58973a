"""Describing faces with the base CNN: from face images to features.

Other packages can add describers, classes with the methods of `Describer` (``docs/plugins``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from castlist.errors import CastlistError, InputError
from castlist.extras import require
from castlist.parallel import in_threads
from castlist.plugins import plugins
from castlist.progress import Progress, silent
from castlist.video.align import ALIGNED_SIDE, aligned
from castlist.video.frames import Image
from castlist.video.inference import Input, check_device, open_network
from castlist.video.weights import DEFAULTS, DETECTORS, REGISTRY, fetch

DEFAULT_DESCRIBER = DEFAULTS[1]
#: Weights of SFace networks and the names of their features: the published one, and the one that
#: we fine-tuned for television (docs/research/describer.md).
SFACE = {"sface-tv": "SFace-TV", "sface": "SFace"}
#: Input of describers of the ArcFace kind. SFace scales values itself.
ARCFACE = Input(rgb=True, mean=127.5, scale=127.5)
_SFACE_INPUT = Input(rgb=True)
_VGGFACE2 = ("SE-ResNet50-256", "ResNet50")
_MANY = 8  # faces from which on several threads are used


class Describer(Protocol):
    """A describer of faces.

    Attributes
    ----------
    name : str
        Name of its features. Models are trained for features of one name.
    aligned : bool
        Whether :meth:`crop` returns aligned faces (:func:`castlist.video.align.aligned`).
    """

    name: str
    aligned: bool

    def crop(
        self, image: Image, box: NDArray[np.floating], landmarks: NDArray[np.floating]
    ) -> Image:
        """Return the crop of a face in an image, as :meth:`describe` takes it."""

    def describe(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Return the features of faces, one row per face."""


class OnnxFace:
    """A face describer of the ArcFace kind in an ONNX file; features have unit length.

    Parameters
    ----------
    path : path
        ONNX file of a network that takes aligned faces of 112 × 112 pixels.
    name : str
        Name of its features; by default the name of the file.
    device : str
        A key of :data:`castlist.video.inference.DEVICES`.
    takes : Input
        Input of the network; by default RGB from -1 to 1.
    backend : str, optional
        As :func:`castlist.video.inference.open_network` takes it.
    """

    aligned = True

    def __init__(
        self, path: str | Path, name: str = "", device: str = "cpu", takes: Input = ARCFACE,
        backend: str | None = None,
    ) -> None:  # fmt: skip
        self.name = name or Path(path).stem
        self._path = path
        self._network = open_network(path, takes, device, backend)
        shape, side = self._network.shape, ALIGNED_SIDE
        if shape[1:] != [3, side, side] or shape[0] not in (None, 1):
            raise InputError(
                f"{path}: the network takes input of shape {shape}, "
                f"not (any or 1, 3, {side}, {side}); use a face describer of the ArcFace kind"
            )
        found = self._feature(np.zeros((side, side, 3), np.uint8))
        self._dim = found.shape[1]

    def crop(
        self, image: Image, box: NDArray[np.floating], landmarks: NDArray[np.floating]
    ) -> Image:
        """Return the aligned face."""
        return aligned(image, landmarks)

    def describe(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Return the features of faces, one row per face."""
        # One face per call: batches are not faster, and each batch size is compiled separately.
        if len(crops) < _MANY:
            features = [self._feature(crop) for crop in crops]
        else:
            features = [feature for _, feature in in_threads(crops, self._feature)]
        return _unit(np.concatenate([np.empty((0, self._dim), np.float32), *features]))

    def _feature(self, crop: Image) -> NDArray[np.float32]:
        found = self._network(crop[None])[0]
        if found.ndim != 2 or len(found) != 1 or not found.shape[1]:
            raise InputError(
                f"{self._path}: the output has shape {found.shape}, not one row per face"
            )
        if not np.isfinite(found).all():
            raise InputError(f"{self._path}: the features are not finite")
        return found


def open_describer(
    choice: str = DEFAULT_DESCRIBER, device: str = "cpu", progress: Progress = silent
) -> Describer:
    """Return a describer, chosen by name or from a file.

    Parameters
    ----------
    choice : str
        ``sface-tv`` (the default), ``sface`` (of the OpenCV Zoo), other weights listed by
        ``castlist models``, the path of an ONNX file of the ArcFace kind,
        ``SE-ResNet50-256:path`` or ``ResNet50:path`` with a VGGFace2 state dict, or the name of a
        plugin.
    device : str
        A key of :data:`castlist.video.inference.DEVICES`.
    progress : callable
        Called when a download starts and when it is finished.
    """
    check_device(device)
    if choice in SFACE:
        return OnnxFace(fetch(choice, progress), SFACE[choice], device, _SFACE_INPUT)
    if choice in REGISTRY and choice not in DETECTORS:
        return OnnxFace(fetch(choice, progress), choice, device)
    kind, path = choice.partition(":")[0], describer_file(choice)
    if kind in _VGGFACE2 and path is not None:
        require("torch", f"the describer {kind}")
        from castlist.video.vggface2 import VggFace2Describer

        return VggFace2Describer(path, kind, device)
    if path is not None:
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        # OpenVINO crashes on some damaged files; onnxruntime does not.
        return OnnxFace(path, device=device, backend="onnxruntime")
    added = plugins("describers")
    if choice in added:
        describer: Describer = added[choice].open(device)
        return describer
    names = [*(name for name in REGISTRY if name not in DETECTORS), *added]
    raise InputError(
        f"unknown describer {choice!r}; choose from {', '.join(names)}, the path of an .onnx file, "
        "SE-ResNet50-256:FILE and ResNet50:FILE"
    )


def choice_of(features: str) -> str | None:
    """Return the choice of :func:`open_describer` whose features have a name; None if unknown."""
    if features in SFACE.values():
        return next(choice for choice, name in SFACE.items() if name == features)
    return features if features in REGISTRY and features not in DETECTORS else None


def describer_file(choice: str) -> Path | None:
    """Return the file in a choice of :func:`open_describer`; None if it is a name."""
    kind, _, path = choice.partition(":")
    if kind in _VGGFACE2 and path:
        return Path(path)
    return Path(choice) if Path(choice).suffix == ".onnx" else None


def with_absolute_path(choice: str) -> str:
    """Return a choice of :func:`open_describer` with its file, if any, as an absolute path."""
    path = describer_file(choice)
    if path is None:
        return choice
    kind = choice.partition(":")[0]
    prefix = f"{kind}:" if kind in _VGGFACE2 else ""
    return f"{prefix}{path.absolute()}"


def _unit(features: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return features scaled to unit length."""
    if not np.isfinite(features).all():
        raise CastlistError(
            "the describer returned a feature that is not finite; is its file damaged?"
        )
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.maximum(norms, 1e-12), np.float32)
