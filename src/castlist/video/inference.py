"""Running networks: an ONNX file, pictures in, arrays out.

OpenVINO runs networks on the processor, if it is installed, and onnxruntime if it is not.
onnxruntime also runs them on other devices. Both give the same results but for rounding.
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

#: Devices, and the execution provider of onnxruntime for each but the processor.
DEVICES = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
}
BACKENDS = ("openvino", "onnxruntime")
#: Environment variable that chooses a backend for the processor.
BACKEND = "CASTLIST_BACKEND"
_MOST_SHAPES = 8  # of batches that a network is kept compiled for
_importing = threading.Lock()

Pictures = NDArray[np.uint8]  # pictures × height × width × BGR


@dataclass(frozen=True)
class Input:
    """What a network takes: what pictures are turned into.

    Attributes
    ----------
    rgb : bool
        Whether channels are in the order red, green, blue; blue, green, red if not.
    mean, scale : float
        Subtracted from every value, 0 to 255, and what it is divided by then.
    """

    rgb: bool = False
    mean: float = 0.0
    scale: float = 1.0


class Network(Protocol):
    """A network that is ready to run; several threads may call it at once.

    Attributes
    ----------
    shape : list of int or None
        Of its input, as the file says: pictures, channels, height, width; None where it takes any.
    """

    shape: list[int | None]

    def __call__(self, pictures: Pictures) -> list[NDArray[np.float32]]:
        """Return the network's outputs for some pictures, in the order of the file."""


def open_network(
    path: str | Path, takes: Input, device: str = "cpu", backend: str | None = None
) -> Network:
    """Open the network of an ONNX file.

    Parameters
    ----------
    path : path
        The file.
    takes : Input
        What it takes.
    device : str
        A key of ``DEVICES``.
    backend : str, optional
        One of ``BACKENDS``; chosen by the device, the environment variable ``CASTLIST_BACKEND``
        and what is installed, if not given.
    """
    check_device(device)
    backend = backend or _backend(device)
    with _failing(path):
        if backend == "openvino":
            return _OpenVino(path, takes)
        return _OnnxRuntime(path, takes, device)


def check_device(device: str) -> None:
    """Refuse a device that is not known; whether it is there is known when a network is opened."""
    if device not in DEVICES:
        raise InputError(f"no device {device!r}; there are {', '.join(DEVICES)}")


def _backend(device: str) -> str:
    asked = os.environ.get(BACKEND, "")
    if asked and asked not in BACKENDS:
        raise InputError(f"{BACKEND}={asked}: there are {', '.join(BACKENDS)}")
    if device != "cpu":
        return "onnxruntime"
    if asked == "openvino" and not find_spec("openvino"):
        raise CastlistError(f"{BACKEND}={asked}: it is not installed; pip install openvino")
    return asked or ("openvino" if find_spec("openvino") else "onnxruntime")


@contextmanager
def _failing(path: str | Path) -> Iterator[None]:
    """Raise an InputError for what a backend cannot do: their own exceptions share no base."""
    try:
        yield
    except CastlistError:
        raise
    except Exception as error:
        why = first_line(error)
        raise InputError(f"{path}: not an ONNX model that runs here ({why})") from error


class _OpenVino:
    """A network in OpenVINO, compiled once per shape of a batch."""

    def __init__(self, path: str | Path, takes: Input) -> None:
        # Instructions for matrices (AMX) fail on virtual machines that do not allow what their
        # processor says it has.
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")
        openvino = _import_openvino()
        from openvino.frontend import FrontEndManager
        from openvino.preprocess import ColorFormat, PrePostProcessor

        self._path = path
        self._core = openvino.Core()
        # By default OpenVINO computes in what the processor is fastest in: bfloat16 on some, which
        # gives other features.
        threads = n_threads()
        self._options = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,  # each picture in one thread: the same sums for any number
        }
        cache = _compiled_folder()
        if cache is not None:
            self._options["CACHE_DIR"] = str(cache)
        # The core would try every format that it knows on a file that is not ONNX.
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
        self._one_at_a_time = threading.Lock()
        self._own = threading.local()

    def __call__(self, pictures: Pictures) -> list[NDArray[np.float32]]:
        with _failing(self._path):
            request = self._request(pictures.shape)
            request.infer([np.ascontiguousarray(pictures)], share_inputs=True)
            return [np.array(one.data, np.float32) for one in request.output_tensors]

    def _request(self, shape: tuple[int, ...]) -> Any:
        """Return this thread's request for pictures of a shape."""
        requests = self._own.__dict__
        compiled = self._for(shape)
        known = requests.get(str(shape))
        if known is None or known[0] is not compiled:
            known = requests[str(shape)] = compiled, compiled.create_infer_request()
        return known[1]

    def _for(self, shape: tuple[int, ...]) -> Any:
        with self._one_at_a_time:
            if shape not in self._compiled:
                if len(self._compiled) >= _MOST_SHAPES:
                    self._compiled.clear()
                self._model.reshape({self._model.inputs[0]: list(shape)})
                self._compiled[shape] = self._core.compile_model(self._model, "CPU", self._options)
            return self._compiled[shape]


class _OnnxRuntime:
    """A network in onnxruntime."""

    def __init__(self, path: str | Path, takes: Input, device: str) -> None:
        os.environ.setdefault("ORT_TELEMETRY_DISABLED", "1")  # nothing leaves the machine
        try:
            import onnxruntime
        except ImportError as error:
            raise CastlistError(
                "this needs onnxruntime, which is not installed; pip install 'castlist[onnx]'"
            ) from error
        self._path, self._takes = path, takes
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # what goes wrong is raised; its log is for its makers
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        provider = DEVICES[device]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a provider that is not there: said below
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=list(dict.fromkeys([provider, DEVICES["cpu"]]))
            )
        if provider not in self._session.get_providers():
            raise InputError(f"device {device!r}: onnxruntime has no {provider} here")
        first = self._session.get_inputs()[0]
        self._input = first.name
        self.shape = [one if isinstance(one, int) else None for one in first.shape]

    def __call__(self, pictures: Pictures) -> list[NDArray[np.float32]]:
        ordered = pictures[..., ::-1] if self._takes.rgb else pictures
        values = ordered.transpose(0, 3, 1, 2).astype(np.float32, order="C")
        if (self._takes.mean, self._takes.scale) != (0.0, 1.0):
            values = (values - np.float32(self._takes.mean)) / np.float32(self._takes.scale)
        with _failing(self._path):
            found: Sequence[Any] = self._session.run(None, {self._input: values})
            return [np.asarray(one, np.float32) for one in found]


def _import_openvino() -> Any:
    """Import OpenVINO without telling its makers of it: nothing leaves the machine.

    Its package for that is taken for not installed meanwhile.
    """
    name = "openvino_telemetry"
    with _importing:  # threads that open networks at once
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
    """Return where OpenVINO keeps what it compiled, so that the next start is quicker."""
    try:
        folder = cache_folder() / "compiled"
        folder.mkdir(parents=True, exist_ok=True)
    except (CastlistError, OSError):
        return None
    return folder if os.access(folder, os.W_OK) else None
