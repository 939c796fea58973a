"""Many videos on a Ray cluster: a video a task, the networks loaded once a worker.

All machines must see the videos and the folders of the casts under the same paths. A task that is
lost with its worker or machine is done again elsewhere, where the scan goes on from what is in the
folder; the folder's lock keeps the lost one from writing any longer.
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
from castlist.pipeline.networks import Networks
from castlist.pipeline.scan_settings import ScanSettings
from castlist.progress import Progress, silent
from castlist.ray_cluster import RETRIES, cluster, n_workers
from castlist.video.weights import LicenceWarning

_PATIENCE = 120.0  # seconds for a lost worker to notice that it is lost
_AHEAD = 2  # tasks a core that are under way or wait for one

#: Of a worker's process, which does one video after another.
_NETWORKS = Networks()


def scan_on_ray(
    entries: Sequence[Entry], settings: ScanSettings, *,
    address: str | None = None, replace: bool = False, progress: Progress = silent,
) -> list[Outcome]:  # fmt: skip
    """Scan videos on a Ray cluster, as :func:`castlist.pipeline.catalogue.scan_all` does here.

    Parameters
    ----------
    entries : sequence of Entry
        The videos.
    settings : ScanSettings
        How.
    address : str, optional
        The cluster, as :func:`castlist.ray_cluster.cluster` takes it.
    replace : bool
        Whether casts of other videos may be replaced, as :func:`castlist.pipeline.scan.scan` does.
    progress : callable
        Told how many videos are done.

    Returns
    -------
    list of Outcome
        In the order of the videos.
    """
    if settings.model is not None:
        settings = dataclasses.replace(settings, model=settings.model.absolute())
    outcomes: dict[Entry, Outcome] = {}
    progress("videos", 0, len(entries))
    with cluster(address) as ray:
        for outcome in _scanned(ray, entries, settings, replace):
            outcomes[outcome.entry] = outcome
            progress("videos", len(outcomes), len(entries))
    for message in sorted({said for outcome in outcomes.values() for said in outcome.warned}):
        warnings.warn(message, LicenceWarning, stacklevel=2)
    return [outcomes[entry] for entry in entries]


def _scanned(
    ray: Any, entries: Sequence[Entry], settings: ScanSettings, replace: bool
) -> Iterator[Outcome]:
    """Scan videos, only a few ahead of those that are done; yield each when it is."""
    gpus = 1 if settings.device == "cuda" else 0
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_scan_entry)
    rest = iter(entries)
    running: dict[Any, Entry] = {}
    while True:
        while len(running) < _AHEAD * n_workers(ray) and (entry := next(rest, None)):
            there = Entry(Path(os.path.abspath(entry.video)), Path(os.path.abspath(entry.folder)))
            running[task.remote(there, settings, replace)] = entry
        if not running:
            return
        for reference in ray.wait(list(running), num_returns=1)[0]:
            entry = running.pop(reference)
            try:
                yield dataclasses.replace(ray.get(reference), entry=entry)
            except ray.exceptions.RayError as error:  # its workers died, one after another
                yield failure(entry, error)


def _scan_entry(entry: Entry, settings: ScanSettings, replace: bool) -> Outcome:
    """Do one video in a worker, which has one core."""
    set_threads(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LicenceWarning)
        outcome = scan_entry(entry, settings, _NETWORKS, replace=replace, patience=_PATIENCE)
    return dataclasses.replace(outcome, warned=tuple(str(warning.message) for warning in caught))
