"""Read and write models: safetensors with JSON metadata, and the authors' checkpoint."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from castlist._version import __version__
from castlist.errors import InputError, first_line
from castlist.extras import require
from castlist.io.files import replacing
from castlist.io.untrusted import parse_json, read_small
from castlist.model.ball_model import BallModel
from castlist.model.neighbours import MAX_ROUNDS

FORMAT = 4
_METADATA = "castlist"
#: Settings of neighbour averaging (``model/neighbours.py``).
_AVERAGING = ("rounds", "reach", "nearest", "share", "false_rate")
_MAX_BYTES = 2**30  # many times a model, or the state of a training run
#: What safetensors raises if a file is damaged, or has a number type that NumPy lacks.
_UNREADABLE = (SafetensorError, LookupError, ValueError, TypeError, RuntimeError, AssertionError)
#: The base CNN behind the authors' checkpoint (sec. 4).
AUTHORS_DESCRIBER = "SE-ResNet50-256"

#: Tensors by name.
Tensors = dict[str, NDArray[Any]]


def save_model(model: BallModel, path: str | Path) -> None:
    """Write a model to a safetensors file, with its metadata."""
    write_tensors(
        Path(path),
        model.tensors(),
        {
            "format": FORMAT,
            "castlist": __version__,
            "dims": list(model.dims),
            "normalise": model.normalise,
            "residual": model.residual,
            "rounds": model.rounds,
            "reach": model.reach,
            "nearest": model.nearest,
            "share": model.share,
            "false_rate": model.false_rate,
            "operating": model.operating,
            "describer": model.describer,
            "b": model.b,
            "threshold": model.threshold,
            "settings": model.settings,
            "validation": model.validation,
        },
    )


def load_model(path: str | Path) -> BallModel:
    """Read a model from a castlist safetensors file, or from the authors' ``.pth.tar``."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such model file")
    if path.name.endswith((".pth.tar", ".pth", ".pt")):
        return load_authors_model(path)
    tensors, about = read_tensors(path)
    try:
        found = about["format"]
        if found != FORMAT:
            newer = type(found) is int and found > FORMAT
            advice = "it was written by a newer version of castlist: update castlist"
            raise InputError(
                f"{path}: model format {str(found)[:20]}; this castlist reads format {FORMAT}; "
                f"{advice if newer else 'train the model again'}"
            )
        dims = [int(d) for d in about["dims"]]
        _require_sizes(dims, [tensors[f"linears.{i}.weight"] for i in range(len(dims) - 1)])
        averaging = {name: about[name] for name in _AVERAGING}
        good = 0 <= averaging["rounds"] <= MAX_ROUNDS and -1 <= averaging["reach"] <= 1
        shares = averaging["share"], averaging["false_rate"]
        if not (good and averaging["nearest"] >= 0 and all(0 <= one < 1 for one in shares)):
            raise InputError(f"{path}: not a castlist model (averaging is {averaging})")
        model = BallModel(
            dims, normalise=bool(about["normalise"]), residual=bool(about["residual"]),
            describer=str(about["describer"]), **averaging,
        )  # fmt: skip
        model.operating = None if about["operating"] is None else float(about["operating"])
        if not 0 <= (model.operating or 0) < math.inf:
            raise InputError(f"{path}: not a castlist model (the threshold is {model.operating})")
        model.set_tensors(tensors)
        model.settings, model.validation = dict(about["settings"]), dict(about["validation"])
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{path}: not a castlist model ({first_line(error)})") from error
    _require_finite(path, tensors)
    return model


def load_authors_model(path: str | Path) -> BallModel:
    """Read the checkpoint that the paper's authors released. It does not standardise features."""
    path = Path(path)
    require("torch", f"{path}: a checkpoint of PyTorch")
    import torch

    try:
        # weights_only: loading an untrusted checkpoint must not run code.
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        weights = checkpoint["model_state"]
        if not isinstance(weights, Mapping):
            raise InputError("model_state is not a dictionary")
        named = {**weights, "b_hat": checkpoint["criterion_state"]["ctrd.h_bias"].reshape(())}
        if not all(map(is_stored_whole, named.values())):
            raise InputError("a tensor is larger than its stored data")
        tensors = {name: tensor.float().numpy() for name, tensor in named.items()}
        layers = [tensors[f"linears.{i}.weight"] for i in range(len(weights) // 2)]
        dims = [layers[0].shape[1], *(layer.shape[0] for layer in layers)]
        _require_sizes(dims, layers)
        model = BallModel(dims, describer=AUTHORS_DESCRIBER)
        model.set_tensors({**model.tensors(), **tensors})
        epoch = int(checkpoint["epoch"])
    except Exception as error:  # damaged and hostile pickles fail in many ways
        raise InputError(f"{path}: not the authors' checkpoint ({first_line(error)})") from error
    _require_finite(path, model.tensors())
    model.settings = {"source": path.name, "epoch": epoch}
    return model


def is_stored_whole(value: object) -> bool:
    """Return whether a value is a dense PyTorch tensor with storage for every element.

    Views can claim any shape: an expanded tensor of one stored number may need terabytes.
    """
    import torch

    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and value.numel() * value.element_size() <= value.untyped_storage().nbytes()
    )


def write_tensors(path: Path, tensors: Tensors, about: dict[str, Any]) -> None:
    """Write tensors and JSON metadata to one safetensors file, atomically."""
    # safetensors' own save_file would replace the locked partial file by one of its own, leave it
    # behind when killed, and make it readable by the owner only.
    content = safetensors.numpy.save(tensors, {"format": "pt", _METADATA: json.dumps(about)})
    with replacing(path) as partial:
        partial.write_bytes(content)


def read_tensors(path: Path) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and the metadata of a file that :func:`write_tensors` wrote."""
    try:  # not by safetensors, which cannot open files whose names are not UTF-8
        content = read_small(path, _MAX_BYTES)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        tensors = safetensors.numpy.load(content)
        end = 8 + int.from_bytes(content[:8], "little")  # of the header, which load() has checked
        about = parse_json(parse_json(content[8:end].decode("utf-8"))["__metadata__"][_METADATA])
        if not isinstance(about, dict):
            raise InputError("unreadable metadata")
    except _UNREADABLE as error:
        raise InputError(
            f"{path}: not a whole castlist safetensors file ({first_line(error)})"
        ) from error
    return tensors, about


def _require_sizes(dims: list[int], layers: list[NDArray[Any]]) -> None:
    """Raise an error if layers do not have the sizes named, before memory is allocated for them."""
    for layer, (into, out) in zip(layers, pairwise(dims), strict=True):
        if layer.shape != (out, into):
            raise ValueError(f"the layers do not have the sizes {dims}")


def _require_finite(path: Path, tensors: Tensors) -> None:
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise InputError(f"{path}: tensor {name!r} has values that are not finite")
