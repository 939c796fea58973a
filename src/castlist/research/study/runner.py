"""Run a study: schedule its tasks on all cores and run only those that are missing.

A task is a function call whose answer is one JSON file. The file's name is a digest of everything
that the answer depends on, so an interrupted study resumes, and changed data or settings rerun only
what they affect.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from castlist.errors import CastlistError, InputError
from castlist.extras import require
from castlist.io.files import replacing
from castlist.io.lock import locked
from castlist.io.output_guard import check_for_run
from castlist.io.untrusted import read_json
from castlist.model.model_file import load_model
from castlist.parallel import n_threads, set_threads
from castlist.progress import Progress, silent
from castlist.research.score.curves import Curve
from castlist.research.study.plan import Method, Plan, Test
from castlist.research.study.results import Counts, Record, Results, Shown
from castlist.research.study.statistics import statistics, tracks_per_identity
from castlist.research.study.tasks import (
    batches_task,
    columns_of,
    extremes_task,
    finetune_task,
    labelled,
    test_task,
    time_losses,
    train_task,
)
from castlist.research.training.run_folder import MODEL
from castlist.research.training.train_settings import TrainSettings
from castlist.tracks import TrackSet

#: Folders of a study: trained models, and answers of finished tasks.
_FOLDERS = ("runs", "cache")

#: Version of the answers. Increase it when a task's answer changes, so that old files are not read.
_VERSION = 2


def run_study(
    plan: Plan, out: str | Path, *, restart: bool = False, progress: Progress = silent
) -> Results:
    """Run the tasks of a study that are missing, and return all results.

    Parameters
    ----------
    plan : Plan
        The study.
    out : path
        A folder. Trained models go to ``runs``, answers of finished tasks to ``cache``. An
        interrupted study resumes from them.
    restart : bool
        Delete earlier models and answers first.
    progress : callable
        Called with the stage, the number of tasks done and the total.
    """
    for module in ("matplotlib", "torch"):  # fail now rather than after hours of training
        require(module, "a study")
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; a study needs a folder")
    check_for_run(out, "a study")
    with locked(out):
        return _run(plan, out, restart, progress)


def _run(plan: Plan, out: Path, restart: bool, progress: Progress) -> Results:
    mark = out / "study.json"
    if restart:
        if not mark.is_file() and any((out / name).exists() for name in _FOLDERS):
            raise InputError(f"{out} is not the folder of a study; nothing was deleted")
        for name in _FOLDERS:
            shutil.rmtree(out / name, ignore_errors=True)
    with replacing(mark) as partial:
        partial.write_text(json.dumps({"title": plan.title}), "utf-8")
    schedule = _Schedule(plan, out)
    training = [*schedule.training.values(), *schedule.ablations.values()]
    testing = [*schedule.testing(), *schedule.extremes()]
    batches, timing = list(schedule.batches.values()), schedule.timing()
    others = [*testing, *batches]
    total = len(training) + len(others) + len(timing)
    run_tasks(training, 0, total, progress)
    run_tasks(others, len(training), total, progress)
    # Time the losses alone, after all other tasks.
    for done, task in enumerate(timing, start=len(training) + len(others) + 1):
        if not task.done:
            task.write(task.call(*task.arguments))
        progress("study", done, total)
    return schedule.results(testing, timing)


@dataclass(frozen=True)
class Task:
    """A function call, and the file that its answer goes to."""

    name: str
    file: Path
    call: Callable[..., dict[str, Any]]
    arguments: tuple[Any, ...]

    @property
    def done(self) -> bool:
        """Whether the answer exists."""
        return self.file.is_file()

    @classmethod
    def of(
        cls, name: str, folder: Path, call: Callable[..., dict[str, Any]],
        arguments: tuple[Any, ...], **depends: Any,
    ) -> Task:  # fmt: skip
        """Return a task whose file is named after everything that the answer depends on."""
        key = digest({"call": call.__name__, "name": name, **depends})
        slug = "".join(c if c.isalnum() else "-" for c in name)[:60].strip("-")
        return cls(name, folder / f"{slug}-{key}.json", call, arguments)

    def write(self, answer: dict[str, Any]) -> None:
        """Write the answer to the file atomically."""
        with replacing(self.file) as partial:
            partial.write_text(json.dumps(answer), "utf-8")

    @contextmanager
    def answer(self) -> Iterator[dict[str, Any]]:
        """Yield the stored answer; report a file that the block cannot use as damaged."""
        try:
            answer = read_json(self.file)
            if not isinstance(answer, dict):
                raise TypeError(f"{type(answer).__name__} instead of an answer")
            yield answer
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(f"{self.file}: damaged; delete it to compute it again") from error


class _Schedule:
    """All tasks of a study."""

    def __init__(self, plan: Plan, out: Path) -> None:
        self.plan, self.out = plan, out
        self.training = {
            (method.name, seed): self._train(
                method.name, plan.train, plan.validation, replace(method.settings, seed=seed)
            )
            for method in plan.methods
            if method.settings
            for seed in plan.seeds
        }
        self.ablations = {
            (variant, seed): self._train(
                f"{variant.group} {variant.label}", variant.train, variant.validation,
                replace(variant.settings, seed=seed),
            )
            for variant in plan.variants
            for seed in plan.seeds
        }  # fmt: skip
        self.batches = self._batches()

    def _batches(self) -> dict[tuple[Any, ...], Task]:
        """Return one task per training set of the ablations, for all their batch sizes."""
        sizes: dict[tuple[Any, ...], set[int]] = {}
        for one in self.plan.variants:
            sizes.setdefault((one.train, one.validation), set()).add(one.settings.batch)
        return {
            (train, validation): Task.of(
                "identities per batch", self.out / "cache", batches_task,
                (train, validation, tuple(sorted(found)), self.plan.seeds[0]),
                train=contents(train), validation=bool(validation), sizes=sorted(found),
                seed=self.plan.seeds[0],
            )
            for (train, validation), found in sizes.items()
        }  # fmt: skip

    def _train(
        self,
        name: str,
        train: tuple[Path, ...],
        validation: tuple[Path, ...],
        settings: TrainSettings,
    ) -> Task:
        # The name of the method is not part of the digest: an ablation's default value is the
        # method itself, and is trained once.
        key = digest([contents(train), contents(validation), settings.to_dict()])
        run = self.out / "runs" / f"{settings.loss}-seed-{settings.seed}-{key}"
        # The answer is in the folder of the model, so that neither exists without the other.
        return Task(
            f"{name} seed {settings.seed}", run / "answer.json", train_task,
            (train, validation, settings, run),
        )  # fmt: skip

    def testing(self) -> list[Task]:
        """Return the clusterings and the fine-tunings of all tests."""
        tasks, cache, iterations = [], self.out / "cache", self.plan.finetune_iterations
        for test in self.plan.tests:
            data = _fingerprint(test)
            columns = [name for name, _ in columns_of(test)]
            for method in self.plan.methods:
                for seed in self.plan.seeds:
                    run, origin = self._origin(method, seed)
                    name = f"{test.name} {method.name} seed {seed}"
                    whole = seed == self.plan.seeds[0]
                    tasks.append(
                        Task.of(
                            name, cache, test_task, (test, method, run, seed, whole),
                            data=data, origin=origin, seed=seed, whole=whole,
                        )
                    )  # fmt: skip
                    tasks += [
                        Task.of(
                            f"{name} finetuned {column}", cache, finetune_task,
                            (test, method, run, column, iterations, seed),
                            data=data, origin=origin, seed=seed, column=column, most=iterations,
                            constraints=method.constraints,
                        )
                        for column in columns
                        if method.finetune
                    ]  # fmt: skip
        return tasks

    def extremes(self) -> list[Task]:
        """Return the clusterings of validation that need no model."""
        train, validation = self.plan.train, self.plan.validation
        if not train:
            return []
        return [
            Task.of(
                f"validation seed {seed}", self.out / "cache", extremes_task,
                (train, validation, seed),
                train=contents(train), validation=contents(validation), seed=seed,
            )
            for seed in (self.plan.seeds[:1] if validation else self.plan.seeds)
        ]  # fmt: skip

    def timing(self) -> list[Task]:
        """Return the one task that measures the seconds per epoch of each loss."""
        methods = [
            (method.name, method.settings)
            for method in self.plan.methods
            if method.settings and method.key == method.settings.loss
        ]
        if not methods:
            return []
        arguments = (self.plan.train, self.plan.validation, methods)
        return [
            Task.of(
                "seconds an epoch", self.out / "cache", time_losses, arguments,
                train=contents(self.plan.train),
                methods=[(name, settings.to_dict()) for name, settings in methods],
            )
        ]  # fmt: skip

    def _origin(self, method: Method, seed: int) -> tuple[Path | None, Any]:
        """Return the run folder of a method's model, and what the model depends on."""
        if task := self.training.get((method.name, seed)):
            return task.file.parent, task.file.parent.name
        if method.model is not None:
            return None, contents((method.model,))
        return None, [method.rounds, method.reach, method.nearest, method.share]

    def results(self, testing: Sequence[Task], timing: Sequence[Task]) -> Results:
        """Read the answers of all tasks."""
        records, shown = [], []
        curves: dict[tuple[str, str], dict[str, tuple[Curve, int]]] = {}
        for (method, seed), task in self.training.items():
            with task.answer() as best:
                records.append(_on_validation("validation", "all of it", method, seed, best))
        for (variant, seed), task in self.ablations.items():
            with task.answer() as best:
                one = _on_validation("ablation", variant.group, variant.label, seed, best)
            records.append(one)
        for task in testing:
            with task.answer() as answer:
                records += [Record(**one) for one in answer["records"]]
                shown += [Shown(**one) for one in answer.get("shown", ())]
                for column, one in answer.get("curves", {}).items():
                    place = curves.setdefault((task.arguments[0].name, column), {})
                    place[task.arguments[1].name] = _curve(**one)
        found = Results(records, curves=curves, shown=shown, counts=self._counts())
        if self.plan.train:
            found.train_skew.extend(tracks_per_identity(labelled(self.plan.train))[0].tolist())
        for test in self.plan.tests:
            columns = list(columns_of(test))
            found.statistics[test.name] = [statistics(tracks, name) for name, tracks in columns]
            videos = [tracks for name, tracks in columns if name not in test.combined]
            counts, background = tracks_per_identity(TrackSet.join(videos))
            found.skew[test.name] = (counts.tolist(), background.tolist())
        for task in timing:
            with task.answer() as answer:
                found.seconds.update(
                    {name: float(seconds) for name, seconds in answer["seconds"].items()}
                )
        return found

    def _counts(self) -> dict[tuple[str, str], Counts]:
        """Return the sizes of the variants, from their models and batches."""
        found = {}
        for one in self.plan.variants:
            run = self.ablations[one, self.plan.seeds[0]].file.parent
            model = load_model(run / MODEL)
            with self.batches[one.train, one.validation].answer() as answer:
                n_in_batch, n_over_5 = map(float, answer["batches"][str(one.settings.batch)])
            size = sum(x.size for x in (*model.weights, *model.biases))
            found[one.group, one.label] = Counts(model.dims[0], size, n_in_batch, n_over_5)
        return found


def run_tasks(tasks: Sequence[Task], before: int, total: int, progress: Progress) -> None:
    """Run the tasks that have no answer yet, in one process per core.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks that do not depend on each other.
    before, total : int
        Number of tasks of the study done before these, and in all, for ``progress``.
    progress : callable
        Called with the stage, the number of tasks done and the total.
    """
    missing = list({task.file: task for task in tasks if not task.done}.values())
    done = before + len(tasks) - len(missing)
    progress("study", done, total)
    if not missing:
        return
    # Spawn: a fork of a process with running threads may deadlock.
    context = multiprocessing.get_context("spawn")
    workers = min(n_threads(), len(missing))
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker) as pool:
        with _ignoring_interrupts():
            waiting = {pool.submit(task.call, *task.arguments): task for task in missing}
        try:
            for future in as_completed(waiting):
                task = waiting[future]
                try:
                    task.write(future.result())
                except CastlistError as error:
                    raise type(error)(f"{task.name}: {error}") from error
                except BrokenProcessPool as error:
                    raise CastlistError(
                        "a worker process of the study was killed, perhaps because memory ran "
                        "out; finished tasks are kept, and the same command resumes the study"
                    ) from error
                done += 1
                progress("study", done, total)
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()  # their answers are no longer wanted
            raise


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Start workers that ignore Ctrl-C: the parent terminates them, without tracebacks."""
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # children inherit ignored signals
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker() -> None:
    """Use one thread, since there is one process per core, and exit when the parent exits."""
    import torch

    torch.set_num_threads(1)
    set_threads(1)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    # Without this, the workers of a killed study would go on and write beside the next run.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def digest(value: Any) -> str:
    """Return a short hash of a value that JSON can hold."""
    text = json.dumps([_VERSION, value], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def contents(paths: tuple[Path, ...]) -> list[str]:
    """Return the names and hashes of track files, so that a study notices changes."""
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


def _curve(chosen: int, **values: list[float]) -> tuple[Curve, int]:
    """Return the curve of an answer and the number of clusters at the method's τ."""
    arrays = {name: np.array(of) for name, of in values.items()}
    curve = Curve(**arrays)
    if any(one.shape != (len(curve.nmi),) or one.dtype.kind not in "if" for one in arrays.values()):
        raise ValueError("not a curve")
    return curve, int(chosen)


def _fingerprint(test: Test) -> list[Any]:
    """Return everything that a test's figures depend on; the paths of its files do not count."""
    return [
        test.name, contents(test.tracks), contents(test.validation), test.combined, test.paper,
        test.gallery, test.most, test.boxes,
    ]  # fmt: skip


def _on_validation(test: str, column: str, method: str, seed: int, best: dict[str, Any]) -> Record:
    """Return the record of a model on validation, at its own τ or the τ chosen there."""
    names = ("n_clusters", "nmi", "wcp")
    if "operating" in best:
        names = ("operating_clusters", "operating_nmi", "operating_wcp")
    clusters, nmi, wcp = (best[name] for name in names)
    return Record(test, column, method, seed, "own", best["n_characters"], clusters, nmi, wcp)
