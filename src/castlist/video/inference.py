"""Running the network of an ONNX file on images.

On the CPU, OpenVINO runs networks if it is installed, otherwise onnxruntime. On other devices,
onnxruntime does. Results are the same up to rounding.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from castlist.errors import CastlistError, InputError, first_line
from castlist.parallel import n_threads
from castlist.video.weights import cache_folder

#: Devices, and the execution provider of onnxruntime for each.
DEVICES = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
}
BACKENDS = ("openvino", "onnxruntime")
#: Environment variable that chooses the backend on the CPU.
BACKEND = "CASTLIST_BACKEND"
_MAX_SHAPES = 8  # batch shapes for which compiled networks are kept
_importing = threading.Lock()

Images = NDArray[np.uint8]  # images × height × width × BGR


@dataclass(frozen=True)
class Input:
    """The input format of a network.

    Attributes
    ----------
    rgb : bool
        Whether channels are in RGB order; BGR if not.
    mean, scale : float
        Each value v, 0 to 255, becomes (v - mean) / scale.
    """

    rgb: bool = False
    mean: float = 0.0
    scale: float = 1.0


class Network(Protocol):
    """A network that is ready to run. Several threads may call it at once.

    Attributes
    ----------
    shape : list of int or None
        Shape of its input: images, channels, height, width; None for any size.
    """

    shape: list[int | None]

    def __call__(self, images: Images) -> list[NDArray[np.float32]]:
        """Return the outputs for a batch of images, in the order of the file."""


def open_network(
    path: str | Path, takes: Input, device: str = "cpu", backend: str | None = None
) -> Network:
    """Return the network of an ONNX file.

    Parameters
    ----------
    path : path
        The ONNX file.
    takes : Input
        Input format of the network.
    device : str
        A key of ``DEVICES``.
    backend : str, optional
        One of ``BACKENDS``. By default it depends on the device, the environment variable
        ``CASTLIST_BACKEND``, and what is installed.
    """
    check_device(device)
    backend = backend or _backend(device)
    with _as_input_error(path):
        if backend == "openvino":
            return _OpenVino(path, takes)
        return _OnnxRuntime(path, takes, device)


def check_device(device: str) -> None:
    """Raise an InputError for an unknown device. `open_network` checks whether it is available."""
    if device not in DEVICES:
        raise InputError(f"unknown device {device!r}; choose from {', '.join(DEVICES)}")


def devices() -> dict[str, list[str]]:
    """Return the devices that can run networks here, with the backends of each."""
    found: dict[str, list[str]] = {}
    for backend, usable in zip(BACKENDS, (_of_openvino, _of_onnxruntime), strict=True):
        try:
            here = usable()
        except Exception:  # not installed, or a library that it needs is missing
            continue
        for device in here:
            found.setdefault(device, []).append(backend)
    return found


def _of_openvino() -> list[str]:
    return ["cpu"] if "CPU" in _import_openvino().Core().available_devices else []


def _of_onnxruntime() -> list[str]:
    providers = _import_onnxruntime().get_available_providers()
    return [device for device, provider in DEVICES.items() if provider in providers]


def _backend(device: str) -> str:
    """Return the backend for a device."""
    asked = os.environ.get(BACKEND, "")
    if asked and asked not in BACKENDS:
        raise InputError(f"{BACKEND}={asked}: unknown backend; choose from {', '.join(BACKENDS)}")
    if device != "cpu":
        return "onnxruntime"
    if asked == "openvino" and not find_spec("openvino"):
        raise CastlistError(f"{BACKEND}={asked}: OpenVINO is not installed; pip install openvino")
    return asked or ("openvino" if find_spec("openvino") else "onnxruntime")


@contextmanager
def _as_input_error(path: str | Path) -> Iterator[None]:
    """Turn any exception of a backend into an InputError: they share no base class."""
    try:
        yield
    except CastlistError:
        raise
    except Exception as error:
        why = first_line(error)
        raise InputError(f"{path}: the ONNX model cannot be run ({why})") from error


class _OpenVino:
    """A network in OpenVINO, compiled once per batch shape."""

    def __init__(self, path: str | Path, takes: Input) -> None:
        # AMX instructions fail on virtual machines that report them but do not allow them.
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")
        openvino = _import_openvino()
        from openvino.frontend import FrontEndManager
        from openvino.preprocess import ColorFormat, PrePostProcessor

        self._path = path
        self._core = openvino.Core()
        # By default OpenVINO computes in the fastest type of the processor, bfloat16 on some, which
        # changes features.
        threads = n_threads()
        self._options = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,  # one thread per image, so that results do not depend on it
        }
        cache = _compiled_folder()
        if cache is not None:
            self._options["CACHE_DIR"] = str(cache)
        # Core.read_model would try all its formats on a file that is not ONNX.
        reader = FrontEndManager().load_by_framework("onnx")
        model = reader.convert(reader.load(str(path)))
        self.shape = [
            None if one.is_dynamic else one.get_length() for one in model.inputs[0].partial_shape
        ]
        prepared = PrePostProcessor(model)
        picture = prepared.input(0)
        picture.tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC"))
        picture.tensor().set_color_format(ColorFormat.BGR)
        picture.model().set_layout(openvino.Layout("NCHW"))
        steps = picture.preprocess().convert_element_type(openvino.Type.f32)
        if takes.rgb:
            steps.convert_color(ColorFormat.RGB)
        steps.mean(takes.mean).scale(takes.scale)
        self._model = prepared.build()
        self._compiled: dict[tuple[int, ...], Any] = {}
        self._compile_lock = threading.Lock()
        self._own = threading.local()

    def __call__(self, images: Images) -> list[NDArray[np.float32]]:
        with _as_input_error(self._path):
            request = self._request(images.shape)
            request.infer([np.ascontiguousarray(images)], share_inputs=True)
            return [np.array(one.data, np.float32) for one in request.output_tensors]

    def _request(self, shape: tuple[int, ...]) -> Any:
        """Return this thread's inference request for a batch shape."""
        requests = self._own.__dict__
        compiled = self._compiled_for(shape)
        known = requests.get(str(shape))
        if known is None or known[0] is not compiled:
            known = requests[str(shape)] = compiled, compiled.create_infer_request()
        return known[1]

    def _compiled_for(self, shape: tuple[int, ...]) -> Any:
        """Return the network compiled for a batch shape."""
        with self._compile_lock:
            if shape not in self._compiled:
                if len(self._compiled) >= _MAX_SHAPES:
                    self._compiled.clear()
                self._model.reshape({self._model.inputs[0]: list(shape)})
                self._compiled[shape] = self._core.compile_model(self._model, "CPU", self._options)
            return self._compiled[shape]


class _OnnxRuntime:
    """A network in onnxruntime."""

    def __init__(self, path: str | Path, takes: Input, device: str) -> None:
        try:
            onnxruntime = _import_onnxruntime()
        except ImportError as error:
            raise CastlistError(
                "onnxruntime is not installed; pip install 'castlist[onnx]'"
            ) from error
        self._path, self._takes = path, takes
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised; do not log them, too
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        provider = DEVICES[device]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a missing provider is reported below
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=list(dict.fromkeys([provider, DEVICES["cpu"]]))
            )
        if provider not in self._session.get_providers():
            raise InputError(f"device {device!r}: onnxruntime has no {provider}")
        first = self._session.get_inputs()[0]
        self._input = first.name
        self.shape = [one if isinstance(one, int) else None for one in first.shape]

    def __call__(self, images: Images) -> list[NDArray[np.float32]]:
        ordered = images[..., ::-1] if self._takes.rgb else images
        values = ordered.transpose(0, 3, 1, 2).astype(np.float32, order="C")
        if (self._takes.mean, self._takes.scale) != (0.0, 1.0):
            values = (values - np.float32(self._takes.mean)) / np.float32(self._takes.scale)
        with _as_input_error(self._path):
            found: Sequence[Any] = self._session.run(None, {self._input: values})
            return [np.asarray(one, np.float32) for one in found]


def _import_onnxruntime() -> Any:
    """Return the module ``onnxruntime``, with its telemetry off.

    ``castlist/__init__.py`` turns it off for Linux and macOS, where it begins with the import.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # of Windows
    return onnxruntime


def _import_openvino() -> Any:
    """Return the module ``openvino``, imported without its telemetry.

    Its telemetry package appears as not installed during the import.
    """
    name = "openvino_telemetry"
    with _importing:  # several threads may open networks at once
        before = sys.modules.get(name)
        sys.modules[name] = None  # type: ignore[assignment]
        try:
            import openvino
        finally:
            del sys.modules[name]
            if before is not None:
                sys.modules[name] = before
    return openvino


def _compiled_folder() -> Path | None:
    """Return the cache folder of compiled networks, for a faster start; None if not writable."""
    try:
        folder = cache_folder() / "compiled"
        folder.mkdir(parents=True, exist_ok=True)
    except (CastlistError, OSError):
        return None
    return folder if os.access(folder, os.W_OK) else None
