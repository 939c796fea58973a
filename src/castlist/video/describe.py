"""Describing faces: the base CNN. Another describer is another class with these two methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from castlist.errors import CastlistError, InputError
from castlist.extras import require
from castlist.parallel import in_threads
from castlist.progress import Progress, silent
from castlist.video.align import ALIGNED_SIDE, aligned
from castlist.video.frames import Image
from castlist.video.inference import Input, check_device, open_network
from castlist.video.weights import DEFAULTS, REGISTRY, fetch

DEFAULT_DESCRIBER = DEFAULTS[1]
#: Weights that are SFace, with the name of their features: SFace's own, and ours for television
#: (docs/research/describer.md).
SFACE = {"sface-tv": "SFace-TV", "sface": "SFace"}
#: What describers of the ArcFace kind take; SFace scales values itself.
ARCFACE = Input(rgb=True, mean=127.5, scale=127.5)
_SFACE_TAKES = Input(rgb=True)
_VGGFACE2 = ("SE-ResNet50-256", "ResNet50")
_MANY = 8  # faces that are worth more than one thread


class Describer(Protocol):
    """Turns faces into features.

    ``aligned`` says that :meth:`crop` gives the face on the template
    (:func:`castlist.video.align.aligned`).
    """

    name: str
    aligned: bool

    def crop(
        self, image: Image, box: NDArray[np.floating], landmarks: NDArray[np.floating]
    ) -> Image:
        """Cut a face out of a picture in the way :meth:`describe` takes it."""

    def describe(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Return one feature per face."""


class OnnxFace:
    """A face describer of the ArcFace kind in an ONNX file; features have unit length.

    Parameters
    ----------
    path : path
        Its file, which takes 112 × 112 faces on the template.
    name : str
        Name of its features; the file's, if not given.
    device : str
        A key of :data:`castlist.video.inference.DEVICES`.
    takes : Input
        What it takes: RGB from -1 to 1, if not given.
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
                f"{path}: takes input of shape {shape}, not (any or 1, 3, {side}, {side}): "
                "is it a face describer of the ArcFace kind?"
            )
        found = self._feature(np.zeros((side, side, 3), np.uint8))
        self._dim = found.shape[1]

    def crop(
        self, image: Image, box: NDArray[np.floating], landmarks: NDArray[np.floating]
    ) -> Image:
        """Turn, scale and move the face onto the template."""
        return aligned(image, landmarks)

    def describe(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Return one feature per face."""
        # One face at a time: several take as long, and a network is compiled for each number.
        if len(crops) < _MANY:
            features = [self._feature(crop) for crop in crops]
        else:
            features = [feature for _, feature in in_threads(crops, self._feature)]
        return _unit(np.concatenate([np.empty((0, self._dim), np.float32), *features]))

    def _feature(self, crop: Image) -> NDArray[np.float32]:
        found = self._network(crop[None])[0]
        if found.ndim != 2 or len(found) != 1 or not found.shape[1]:
            raise InputError(
                f"{self._path}: gives output of shape {found.shape}, not one row per face"
            )
        if not np.isfinite(found).all():
            raise InputError(f"{self._path}: gives features that are no numbers")
        return found


def open_describer(
    choice: str = DEFAULT_DESCRIBER, device: str = "cpu", progress: Progress = silent
) -> Describer:
    """Open a describer by name, or from a file.

    Parameters
    ----------
    choice : str
        ``sface-tv`` (the default), ``sface`` (the OpenCV Zoo's), an opt-in of ``castlist models``,
        the path of an ONNX file of the ArcFace kind, or ``SE-ResNet50-256:path`` or
        ``ResNet50:path`` with a VGGFace2 state dict.
    device : str
        A key of :data:`castlist.video.inference.DEVICES`.
    progress : callable
        Told when weights are fetched.
    """
    check_device(device)
    if choice in SFACE:
        return OnnxFace(fetch(choice, progress), SFACE[choice], device, _SFACE_TAKES)
    if choice in REGISTRY and not choice.startswith("yunet"):
        return OnnxFace(fetch(choice, progress), choice, device)
    kind, path = choice.partition(":")[0], describer_file(choice)
    if kind in _VGGFACE2 and path is not None:
        require("torch", f"the describer {kind}")
        from castlist.video.vggface2 import VggFace2Describer

        return VggFace2Describer(path, kind, device)
    if path is not None:
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        # OpenVINO's reader crashes on some damaged files; onnxruntime's does not.
        return OnnxFace(path, device=device, backend="onnxruntime")
    names = [name for name in REGISTRY if not name.startswith("yunet")]
    raise InputError(
        f"no describer {choice!r}; there are {', '.join(names)}, a path to an .onnx file, "
        "SE-ResNet50-256:FILE and ResNet50:FILE"
    )


def describer_file(choice: str) -> Path | None:
    """Return the file that a choice of :func:`open_describer` names, if it names one."""
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
    if not np.isfinite(features).all():
        raise CastlistError("the describer gave a feature that is not finite; is its file whole?")
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.maximum(norms, 1e-12), np.float32)
