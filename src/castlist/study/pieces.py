"""Pieces of work: done on all cores, each once, its answer kept in a file."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from castlist.errors import CastlistError, InputError
from castlist.io.files import replacing
from castlist.io.untrusted import read_json
from castlist.parallel import n_threads, set_threads
from castlist.progress import Progress

#: Raised when what a piece of work gives changes, so that older files are not taken for it.
_VERSION = 1


@dataclass(frozen=True)
class Piece:
    """A call to make, and the file that its answer goes to."""

    name: str
    file: Path
    call: Callable[..., dict[str, Any]]
    arguments: tuple[Any, ...]

    @property
    def done(self) -> bool:
        """Whether the answer is there."""
        return self.file.is_file()

    @classmethod
    def of(
        cls, name: str, folder: Path, call: Callable[..., dict[str, Any]],
        arguments: tuple[Any, ...], **depends: Any,
    ) -> Piece:  # fmt: skip
        """Make a piece whose file is named after all that its answer depends on."""
        key = digest({"call": call.__name__, "name": name, **depends})
        slug = "".join(c if c.isalnum() else "-" for c in name)[:60].strip("-")
        return cls(name, folder / f"{slug}-{key}.json", call, arguments)

    def keep(self, answer: dict[str, Any]) -> None:
        """Write an answer to the file, whole or not at all."""
        with replacing(self.file) as partial:
            partial.write_text(json.dumps(answer), "utf-8")

    @contextmanager
    def answer(self) -> Iterator[dict[str, Any]]:
        """Give the answer that was kept; one that cannot be taken for what it is, is damaged."""
        try:
            answer = read_json(self.file)
            if not isinstance(answer, dict):
                raise TypeError(f"{type(answer).__name__} instead of an answer")
            yield answer
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(f"{self.file}: damaged; remove it to have it made anew") from error


def do_pieces(pieces: Sequence[Piece], before: int, total: int, progress: Progress) -> None:
    """Do what is missing in as many processes as there are cores.

    ``before`` and ``total`` are for progress: pieces done before these, and pieces in all.
    """
    missing = list({piece.file: piece for piece in pieces if not piece.done}.values())
    done = before + len(pieces) - len(missing)
    progress("study", done, total)
    if not missing:
        return
    # Spawned: a fork of a process with running threads may hang.
    context = multiprocessing.get_context("spawn")
    workers = min(n_threads(), len(missing))
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin) as pool:
        with _uninterrupted():
            waiting = {pool.submit(piece.call, *piece.arguments): piece for piece in missing}
        try:
            for future in as_completed(waiting):
                piece = waiting[future]
                try:
                    piece.keep(future.result())
                except CastlistError as error:
                    raise type(error)(f"{piece.name}: {error}") from error
                except BrokenProcessPool as error:
                    raise CastlistError(
                        "a process of the study was killed, perhaps for want of memory; what is "
                        "done is kept, and the same command goes on"
                    ) from error
                done += 1
                progress("study", done, total)
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()  # nobody waits for what they would find
            raise


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: the study ends them, and they say nothing."""
    if threading.current_thread() is not threading.main_thread():  # which alone hears of it
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a process starts with what is ignored
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin() -> None:
    """Keep a process to one thread: there is a process a core; and end it with the study."""
    import torch

    torch.set_num_threads(1)
    set_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # Of a study that was killed: it would wait for work for ever, or train what is trained again.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def digest(value: Any) -> str:
    """Return a short name for whatever JSON can hold."""
    text = json.dumps([_VERSION, value], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def contents(paths: tuple[Path, ...]) -> list[str]:
    """Say what is in track files, so that a study notices when they change."""
    found = []
    for path in paths:
        inside = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        for file in inside:
            if file.suffix not in (".jpg", ".json"):
                name = str(file.relative_to(path))
                found.append(f"{name} {_hash(file, file.stat().st_mtime_ns)}")
    return found


@cache
def _hash(file: Path, _: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
