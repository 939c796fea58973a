"""The queue of scans: one runs at a time, in a process of its own, and the rest wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread
from typing import IO, Any, Literal

from castlist.errors import CastlistError, InputError
from castlist.io.files import replacing
from castlist.io.untrusted import read_json
from castlist.library.discard import discard_unfinished
from castlist.library.schemas import ScanOptions
from castlist.pipeline.run_manifest import TRACKING

State = Literal["waiting", "scanning", "paused", "failed"]
_STOPPED = "castlist was stopped before this scan was done"
_PATIENCE = 10.0  # seconds for a process to end
_MIN_SECONDS = 2.0  # of work, before the time that is left is estimated


@dataclass
class Job:
    """A scan that waits, runs, is paused or has failed.

    Attributes
    ----------
    video, folder : Path
        The video, and the folder for its cast.
    options : ScanOptions
        The options.
    state : str
        ``waiting``, ``scanning``, ``paused`` or ``failed``.
    reason : str
        Why it failed, or why it is paused; empty if the user paused it.
    stage : str
        The stage that runs, as in progress lines; empty at the start.
    done, total : int
        Progress of the stage.
    """

    video: Path
    folder: Path
    options: ScanOptions = field(default_factory=ScanOptions)
    state: State = "waiting"
    reason: str = ""
    stage: str = ""
    done: int = 0
    total: int = 0
    _began: tuple[float, int] = (0.0, 0)  # time and progress at the first report of the stage
    _now: float = 0.0  # time of the last report

    @property
    def share(self) -> float:
        """Progress of the stage, from 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until the video is tracked; None if it is too early to tell."""
        elapsed, gained = self._now - self._began[0], self.done - self._began[1]
        if self.stage != TRACKING or elapsed < _MIN_SECONDS or gained <= 0:
            return None
        return max(0.0, (self.total - self.done) * elapsed / gained)

    def report(self, stage: str, done: int, total: int) -> None:
        """Take over a report of the scan."""
        self._now = time.monotonic()
        if stage != self.stage:
            self._began = (self._now, done)
        self.stage, self.done, self.total = stage, done, total

    def reset(self, state: State, reason: str = "") -> None:
        """Set the state, and clear the progress."""
        self.state, self.reason = state, reason
        self.stage, self.done, self.total = "", 0, 0


class ScanQueue:
    """Scans videos one after another in worker processes.

    The jobs are stored in a file at every change. When they are read again, those that were not
    done are paused.

    Parameters
    ----------
    path : Path
        The file.
    changed : callable
        Called when jobs are added, removed, or change their state or order.
    """

    def __init__(self, path: Path, changed: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._changed = changed
        self._condition = Condition()
        self._jobs = _read(path)
        self._running: Job | None = None
        self._process: subprocess.Popen[str] | None = None
        self._closed = False
        self._thread = Thread(target=self._run, name="scan queue", daemon=True)
        self._thread.start()

    def jobs(self) -> list[Job]:
        """Return the jobs, in the order in which they are scanned."""
        with self._condition:
            return list(self._jobs)

    def add(self, entries: Iterable[tuple[Path, Path]], options: ScanOptions) -> None:
        """Append scans of videos into folders; a failed or paused scan of a video is replaced."""
        with self._change():
            for video, folder in entries:
                job = self._job(video)
                if job is not None and job.state in ("waiting", "scanning"):
                    continue
                if job is not None:
                    self._jobs.remove(job)
                self._jobs.append(Job(video, folder, options))

    def pause(self, videos: Iterable[Path]) -> None:
        """Stop scans. What they have done is kept, and they resume from there."""
        with self._change():
            for job in self._chosen(videos):
                if job.state in ("waiting", "scanning"):
                    job.state, job.reason = "paused", ""
                    self._stop(job)

    def resume(self, videos: Iterable[Path]) -> None:
        """Let scans that are paused or have failed wait for their turn again."""
        with self._change():
            for job in self._chosen(videos):
                if job.state in ("paused", "failed"):
                    job.reset("waiting")

    def cancel(self, videos: Iterable[Path]) -> None:
        """Remove scans. What unfinished ones have done is removed."""
        with self._change():
            chosen = self._chosen(videos)
            for job in chosen:
                self._jobs.remove(job)
                self._stop(job)
        for job in chosen:
            if job.state != "waiting":
                discard_unfinished(job.folder, job.video, replace=job.options.replace)

    def move(self, videos: Sequence[Path], by: int) -> None:
        """Move scans by one place towards the front (-1) or the end (1)."""
        with self._change():
            chosen = self._chosen(videos)
            order = self._jobs if by < 0 else self._jobs[::-1]
            for k in range(1, len(order)):
                before = order[k - 1]
                if order[k] in chosen and before not in chosen and before.state != "scanning":
                    order[k - 1], order[k] = order[k], before
            self._jobs = order if by < 0 else order[::-1]

    def forget_missing(self) -> None:
        """Remove paused and failed scans whose video is gone."""
        gone = {
            job.video for job in self.jobs()
            if job.state in ("paused", "failed") and not os.path.exists(job.video)
        }  # fmt: skip
        if gone:
            with self._change():
                self._jobs = [job for job in self._jobs if job.video not in gone]

    def close(self) -> None:
        """Stop the scan that runs, and end. The other jobs stay in the file."""
        with self._condition:
            self._closed = True
            if self._running is not None:
                self._stop(self._running)
            self._condition.notify_all()
        self._thread.join()

    def _job(self, video: Path) -> Job | None:
        return next((job for job in self._jobs if job.video == video), None)

    def _chosen(self, videos: Iterable[Path]) -> list[Job]:
        wanted = set(videos)
        found = [job for job in self._jobs if job.video in wanted]
        if len(found) < len(wanted):
            raise InputError("some of these videos are no longer in the queue")
        return found

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Lock the queue while it is changed; store it, and wake the thread."""
        with self._condition:
            yield
            self._store()
            self._condition.notify_all()
        self._changed()

    def _store(self) -> None:
        jobs = [
            {"video": str(job.video), "folder": str(job.folder), "state": job.state,
             "reason": job.reason, "options": job.options.model_dump()}
            for job in self._jobs
        ]  # fmt: skip
        try:
            with replacing(self._path) as partial:
                partial.write_text(json.dumps({"jobs": jobs}, indent=1), "utf-8")
        except CastlistError:  # a full disk: the queue still works until the server stops
            pass

    def _stop(self, job: Job) -> None:
        """End the process of a job, if it runs, and wait until it has ended."""
        if job is not self._running or self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _run(self) -> None:
        """Scan the first waiting job, again and again."""
        while True:
            with tempfile.TemporaryFile() as errors:
                with self._condition:
                    while not (self._closed or any(job.state == "waiting" for job in self._jobs)):
                        self._condition.wait()
                    if self._closed:
                        return
                    job = next(job for job in self._jobs if job.state == "waiting")
                    job.reset("scanning")
                    process = _start(errors)
                    self._running, self._process = job, process
                self._changed()
                failed = _follow(process, job, errors)
            with self._condition:
                self._running = self._process = None
                if job.state == "scanning" and not self._closed:  # neither paused nor cancelled
                    if failed:
                        job.reset("failed", failed)
                    elif job in self._jobs:
                        self._jobs.remove(job)
                self._store()
            self._changed()


def _start(errors: IO[bytes]) -> subprocess.Popen[str]:
    """Return a new worker process."""
    return subprocess.Popen(
        # -P: the current folder may be a stranger's, and no module is to be imported from it.
        [sys.executable, "-P", "-m", "castlist.library.scan_worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", bufsize=1,
    )  # fmt: skip


def _follow(process: subprocess.Popen[str], job: Job, errors: IO[bytes]) -> str:
    """Give a job to a worker and follow it until it ends; return why it failed, or nothing."""
    assert process.stdin is not None
    assert process.stdout is not None
    wanted = {
        "video": str(job.video), "folder": str(job.folder), "options": job.options.model_dump(),
    }  # fmt: skip
    failed: str | None = None
    with process.stdout, suppress(BrokenPipeError):
        process.stdin.write(json.dumps(wanted) + "\n")
        for line in process.stdout:
            with suppress(ValueError):  # a process that was ended may leave half a line
                report: dict[str, Any] = json.loads(line)
                if "stage" in report:
                    job.report(report["stage"], report["done"], report["total"])
                else:
                    failed = str(report["failed"])
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.wait()
    return _ending(process.returncode, errors) if failed is None else failed


def _ending(code: int, errors: IO[bytes]) -> str:
    """Return why a worker ended without an outcome: its last words, or its exit code."""
    errors.seek(0)
    lines = errors.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
    if code == -getattr(signal, "SIGKILL", 9):
        return "the system ended the scan, perhaps because the memory was full; try again"
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the scan ended unexpectedly ({how}){': ' if lines else ''}{''.join(lines[-1:])[:300]}"


def _read(path: Path) -> list[Job]:
    """Return the jobs in a file. Those that were not done are paused; malformed ones are left out.

    The file may be missing.
    """
    try:
        entries = read_json(path)["jobs"]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    jobs = []
    for entry in entries if isinstance(entries, list) else []:
        with suppress(ValueError, TypeError, KeyError):  # pydantic's errors are ValueErrors
            failed = entry["state"] == "failed"
            by_user = entry["state"] == "paused"
            reason = str(entry["reason"]) if failed or by_user else _STOPPED
            state: State = "failed" if failed else "paused"
            options = ScanOptions(**entry["options"])
            jobs.append(Job(Path(entry["video"]), Path(entry["folder"]), options, state, reason))
    return jobs
