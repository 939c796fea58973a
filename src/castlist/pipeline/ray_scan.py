"""Scanning many videos on a Ray cluster: one task per video; each worker loads the networks once.

All machines must see the videos and the cast folders under the same absolute paths. A task that is
lost with its worker or machine is repeated elsewhere and resumes from the checkpoint in the folder.
The folder's lock keeps a worker that was wrongly given up from writing at the same time.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from castlist.parallel import set_threads
from castlist.pipeline.catalogue import Entry, Outcome, failure, scan_entry
from castlist.pipeline.scan import Networks
from castlist.pipeline.scan_settings import ScanSettings
from castlist.progress import Progress, silent
from castlist.ray_cluster import RETRIES, cluster, n_workers
from castlist.video.describe import with_absolute_path
from castlist.video.weights import LicenceWarning

_LOCK_TIMEOUT = 120.0  # seconds in which a lost worker notices that it is lost
_TASKS_PER_CORE = 2  # running or queued

#: The networks of a worker process, which scans one video after another.
_NETWORKS = Networks()


def scan_on_ray(
    entries: Sequence[Entry], settings: ScanSettings, *,
    address: str | None = None, replace: bool = False, progress: Progress = silent,
) -> list[Outcome]:  # fmt: skip
    """Scan videos on a Ray cluster; otherwise like :func:`castlist.pipeline.catalogue.scan_all`.

    Relative paths are relative to the current folder of this process.

    Parameters
    ----------
    entries : sequence of Entry
        The videos.
    settings : ScanSettings
        Settings of all scans.
    address : str, optional
        Address of the cluster, as :func:`castlist.ray_cluster.cluster` takes it.
    replace : bool
        Whether to replace casts of other videos, as in :func:`castlist.scan`.
    progress : callable
        Called with the stage, the number of videos done and the total.

    Returns
    -------
    list of Outcome
        One outcome per video, in the order of `entries`.
    """
    settings = _with_absolute_paths(settings)
    outcomes: dict[Entry, Outcome] = {}
    progress("videos", 0, len(entries))
    with cluster(address) as ray:
        for outcome in _outcomes(ray, entries, settings, replace):
            outcomes[outcome.entry] = outcome
            progress("videos", len(outcomes), len(entries))
    for message in sorted({text for outcome in outcomes.values() for text in outcome.warned}):
        warnings.warn(message, LicenceWarning, stacklevel=2)
    return [outcomes[entry] for entry in entries]


def _with_absolute_paths(settings: ScanSettings) -> ScanSettings:
    """Return settings whose files are found from any current folder: workers have another."""
    return dataclasses.replace(
        settings,
        model=settings.model and settings.model.absolute(),
        tracks=settings.tracks and settings.tracks.absolute(),
        describer=with_absolute_path(settings.describer),
    )


def _outcomes(
    ray: Any, entries: Sequence[Entry], settings: ScanSettings, replace: bool
) -> Iterator[Outcome]:
    """Scan videos, submitting only a few tasks per core; yield each outcome when it is known."""
    gpus = 1 if settings.device == "cuda" else 0
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_scan_entry)
    rest = iter(entries)
    running: dict[Any, Entry] = {}
    while True:
        while len(running) < _TASKS_PER_CORE * n_workers(ray) and (entry := next(rest, None)):
            there = Entry(Path(os.path.abspath(entry.video)), Path(os.path.abspath(entry.folder)))
            running[task.remote(there, settings, replace)] = entry
        if not running:
            return
        for reference in ray.wait(list(running), num_returns=1)[0]:
            entry = running.pop(reference)
            try:
                yield dataclasses.replace(ray.get(reference), entry=entry)
            except ray.exceptions.RayError as error:  # every retry lost its worker
                yield failure(entry, error)


def _scan_entry(entry: Entry, settings: ScanSettings, replace: bool) -> Outcome:
    """Scan one video in a worker, on one core."""
    set_threads(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LicenceWarning)
        outcome = scan_entry(
            entry, settings, _NETWORKS, replace=replace, lock_timeout=_LOCK_TIMEOUT
        )
    return dataclasses.replace(outcome, warned=tuple(str(warning.message) for warning in caught))
