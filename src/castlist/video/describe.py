"""Describing faces: the base CNN. Another describer is another class with these two methods."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.errors import CastlistError, InputError, first_line
from castlist.progress import Progress, silent
from castlist.video.align import ALIGNED_SIDE, aligned
from castlist.video.detect import quiet_opencv
from castlist.video.frames import Image
from castlist.video.settings import check_device
from castlist.video.weights import DEFAULTS, REGISTRY, fetch

DEFAULT_DESCRIBER = DEFAULTS[1]
#: Weights that are SFace, with the name of their features: SFace's own, and ours for television
#: (docs/describer.md).
SFACE = {"sface-tv": "SFace-TV", "sface-int8": "SFace", "sface": "SFace"}
_VGGFACE2 = ("SE-ResNet50-256", "ResNet50")
_BATCH, _LARGEST_BATCH = 16, 1024


class Describer(Protocol):
    """Turns faces into features."""

    name: str

    def crop(
        self, image: Image, box: NDArray[np.floating], landmarks: NDArray[np.floating]
    ) -> Image:
        """Cut a face out of a picture in the way :meth:`describe` takes it."""

    def describe(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Return one feature a face."""


class _Aligned:
    """What describers of the ArcFace kind share: a 112 × 112 face on the template."""

    def crop(
        self, image: Image, box: NDArray[np.floating], landmarks: NDArray[np.floating]
    ) -> Image:
        """Turn, scale and move the face onto the template."""
        return aligned(image, landmarks)


class SFace(_Aligned):
    """The OpenCV Zoo's SFace, or its twin for television, 128-d; features have unit length."""

    def __init__(self, path: str | Path, name: str = "SFace") -> None:
        self.name = name
        with quiet_opencv():
            self._net = cv2.dnn.readNet(str(path))

    def describe(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Return one feature a face."""
        parts = [np.empty((0, 128), np.float32)]
        side = (ALIGNED_SIDE, ALIGNED_SIDE)
        for start in range(0, len(crops), _BATCH):
            blob = cv2.dnn.blobFromImages(list(crops[start : start + _BATCH]), 1, side, swapRB=True)
            self._net.setInput(blob, "data")  # the int8 file's input must be named
            parts.append(np.array(self._net.forward()))
        return _unit(np.concatenate(parts))


class OnnxFace(_Aligned):
    """Any ONNX face describer of the ArcFace kind, through onnxruntime; unit-length features.

    The input is RGB, (x − 127.5) / 127.5, of 112 × 112 aligned faces.
    """

    def __init__(self, path: str | Path, name: str = "", device: str = "cpu") -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise CastlistError(
                "this describer runs in onnxruntime, which is not installed; "
                "pip install 'castlist[onnx]'"
            ) from error
        self.name = name or Path(path).stem
        self._path = path
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # what goes wrong is raised; its log is for its makers
        providers = ["CUDAExecutionProvider"] * (device == "cuda") + ["CPUExecutionProvider"]
        with self._running(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a provider that is not there: said below
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=providers
            )
            taken = self._session.get_inputs()[0]
            shape = list(taken.shape)
        if device == "cuda" and providers[0] not in self._session.get_providers():
            raise InputError("device 'cuda': onnxruntime finds no CUDA here; give --device cpu")
        self._input = taken.name
        self._fixed = bool(shape) and isinstance(shape[0], int)
        self._batch = shape[0] if self._fixed else _BATCH
        side = ALIGNED_SIDE
        if shape[1:] != [3, side, side] or not 0 < self._batch <= _LARGEST_BATCH:
            raise InputError(
                f"{path}: takes input of shape {shape}, not (batch, 3, {side}, {side}): "
                "is it a face describer of the ArcFace kind?"
            )
        blank = np.zeros((self._batch, 3, side, side), np.float32)
        try:
            found = self._run(blank)
        except InputError:  # it says any number of faces will do, and means one
            self._batch = 1
            found = self._run(blank[:1])
        if found.ndim != 2 or len(found) != self._batch or not found.shape[1]:
            raise InputError(f"{path}: gives output of shape {found.shape}, not one row a face")
        self._dim = found.shape[1]

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Say in our words what onnxruntime cannot do: its own exceptions share no base."""
        try:
            yield
        except Exception as error:
            why = first_line(error)
            raise InputError(f"{self._path}: not an ONNX model that runs here ({why})") from error

    def _run(self, blob: NDArray[np.float32]) -> NDArray[np.float32]:
        short = self._batch - len(blob) if self._fixed else 0
        padded = np.concatenate([blob, np.zeros((short, *blob.shape[1:]), np.float32)])
        with self._running():
            found = np.asarray(self._session.run(None, {self._input: padded})[0], np.float32)
        if not np.isfinite(found).all():
            raise InputError(f"{self._path}: gives features that are no numbers")
        return found[: len(found) - short]

    def describe(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Return one feature a face."""
        parts = [np.empty((0, self._dim), np.float32)]
        for start in range(0, len(crops), self._batch):
            rgb = np.stack(crops[start : start + self._batch])[..., ::-1].astype(np.float32)
            blob = np.ascontiguousarray(((rgb - 127.5) / 127.5).transpose(0, 3, 1, 2))
            parts.append(self._run(blob))
        return _unit(np.concatenate(parts))


def open_describer(
    choice: str = DEFAULT_DESCRIBER, device: str = "cpu", progress: Progress = silent
) -> Describer:
    """Open a describer by name, or from a file.

    Parameters
    ----------
    choice : str
        ``sface-tv`` (the default), ``sface`` or ``sface-int8`` (the OpenCV Zoo's), an opt-in of
        ``castlist models``, the path of an ONNX file of the ArcFace kind, or
        ``SE-ResNet50-256:path`` or ``ResNet50:path`` with a VGGFace2 state dict.
    device : str
        ``cpu`` or ``cuda``.
    progress : callable
        Told when weights are fetched.
    """
    check_device(device)
    if choice in SFACE:
        return SFace(fetch(choice, progress), SFACE[choice])
    if choice in REGISTRY and not choice.startswith("yunet"):
        return OnnxFace(fetch(choice, progress), choice, device)
    kind, path = choice.partition(":")[0], describer_file(choice)
    if kind in _VGGFACE2 and path is not None:
        from castlist.video.vggface2 import VggFace2Describer

        return VggFace2Describer(path, kind, device)
    if path is not None:
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        return OnnxFace(path, device=device)
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


def _unit(features: NDArray[np.floating]) -> NDArray[np.float32]:
    if not np.isfinite(features).all():
        raise CastlistError("the describer gave a feature that is not finite; is its file whole?")
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.maximum(norms, 1e-12), np.float32)
