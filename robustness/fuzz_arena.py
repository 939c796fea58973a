"""What ``fuzz.py`` reads in, counts with, and keeps failures in."""

from __future__ import annotations

import hashlib
import mmap
import resource
import struct
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

SECONDS = 20  # for one input


MEMORY = 2 * 2**30  # bytes more than before, for one input


class Arena:
    """A folder of valid files, one of which is replaced by an input; the first byte selects it."""

    def __init__(self, name: str, home: Path) -> None:
        from robustness.fuzz_readers import READERS

        self.reader = READERS[name]
        home.mkdir(parents=True)
        self.home = home
        self.files = self.reader.make(home)
        self.whole = [file.read_bytes() for file in self.files]
        self._beside = {file: set(file.parent.iterdir()) for file in self.files}

    def seeds(self) -> list[bytes]:
        """Return the inputs that change nothing."""
        return [bytes([k]) + data for k, data in enumerate(self.whole)]

    def forge(self, rng: Random) -> bytes:
        """Return an input that lies."""
        from robustness.fuzz_forge import FORGES

        k = rng.randrange(len(self.files))
        return bytes([k]) + FORGES[self.files[k].suffix](self.whole[k], rng)

    def read(self, data: bytes) -> bool:
        """Read an input; return whether it was accepted. Raises what a reader must not raise."""
        from castlist import CastlistError
        from robustness.fuzz_damage import CANARY

        k = data[0] % len(self.files) if data else 0
        file = self.files[k]
        file.write_bytes(data[1:])
        try:
            self.reader.read(self.home, file)
            return True
        except CastlistError:
            return False
        finally:
            for left in set(file.parent.iterdir()) - self._beside[file]:
                left.unlink()
            file.write_bytes(self.whole[k])
            if Path(CANARY).exists():
                Path(CANARY).rmdir()
                raise AssertionError("code in the file was run")


class Tally:
    """Figures that outlive the process that counts: inputs, taken ones, worst seconds, peak RSS."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(32))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 32)

    def get(self) -> tuple[float, float, float, float]:
        """Return the figures."""
        inputs, taken, worst, peak = struct.unpack("4d", self._map[:])
        return inputs, taken, worst, peak

    def add(self, taken: bool, seconds: float, peak: float) -> None:
        """Count an input."""
        inputs, before, worst, most = self.get()
        self._map[:] = struct.pack(
            "4d", inputs + 1, before + taken, max(worst, seconds), max(most, peak)
        )


def what_failed(error: BaseException) -> str:
    """Name a failure by its kind, the line of castlist, and the last line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "castlist" in frame.filename.split("/")]
    places = [ours[-1]] if ours else []
    places += [frames[-1]] if frames else []
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(places))
    return f"{type(error).__name__} at {where}"


class Failures:
    """Inputs that failed, one per kind of failure."""

    def __init__(self, folder: Path, reader: str) -> None:
        self.folder, self.reader = folder, reader
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, what: str, data: bytes, more: str = "") -> None:
        """Keep an input, if none of its kind is kept yet."""
        name = f"{self.reader}-{hashlib.sha256(what.encode()).hexdigest()[:10]}"
        if not (self.folder / f"{name}.txt").exists():
            (self.folder / f"{name}.bin").write_bytes(data)
            (self.folder / f"{name}.txt").write_text(f"{what}\n\n{more}", "utf-8")

    def all(self) -> list[tuple[str, Path]]:
        """Return what failed, and where it is written down."""
        texts = sorted(self.folder.glob(f"{self.reader}-*.txt"))
        return [(text.read_text("utf-8").partition("\n")[0], text) for text in texts]


@contextmanager
def bounded(memory: int) -> Iterator[None]:
    """Limit the additional address space; the system refuses larger allocations."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * mmap.PAGESIZE
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
