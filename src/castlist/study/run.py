"""Running a study: what is missing, on all cores, and nothing twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from castlist.errors import InputError
from castlist.extras import require
from castlist.io.files import replacing
from castlist.io.lock import locked
from castlist.io.output_guard import check_for_run
from castlist.learn.train_settings import TrainSettings
from castlist.progress import Progress, silent
from castlist.score.curves import Curve
from castlist.study.jobs import columns_of, finetune_job, test_job, time_losses, train_job
from castlist.study.methods import Method
from castlist.study.pieces import Piece, contents, digest, do_pieces
from castlist.study.plan import Plan, Test
from castlist.study.results import Record, Results, Shown
from castlist.study.statistics import statistics, tracks_per_identity
from castlist.tracks import TrackSet

#: What a study keeps in its folder: trained models, and answers of finished pieces.
_FOLDERS = ("runs", "cache")


def run_study(
    plan: Plan, out: str | Path, *, restart: bool = False, progress: Progress = silent
) -> Results:
    """Do all of a study that is not done yet, and gather what it found.

    Parameters
    ----------
    plan : Plan
        What to do.
    out : path
        A folder. ``runs`` in it gets the trained models, ``cache`` the answers of finished pieces;
        a study that was cut off goes on from there.
    restart : bool
        Forget what is there.
    progress : callable
        Told how many pieces are done.
    """
    for module in ("matplotlib", "torch"):  # now, and not after a night of training
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
            raise InputError(f"{out} is no study's folder: nothing in it is forgotten")
        for name in _FOLDERS:
            shutil.rmtree(out / name, ignore_errors=True)
    with replacing(mark) as partial:
        partial.write_text(json.dumps({"title": plan.title}), "utf-8")
    work = _Work(plan, out)
    training, testing = [*work.training.values(), *work.ablating.values()], work.testing()
    timing = work.timing()
    total = len(training) + len(testing) + len(timing)
    do_pieces(training, 0, total, progress)
    do_pieces(testing, len(training), total, progress)
    # Times are measured with nothing else going on.
    for done, job in enumerate(timing, start=len(training) + len(testing) + 1):
        if not job.done:
            job.keep(job.call(*job.arguments))
        progress("study", done, total)
    return work.results(testing, timing)


class _Work:
    """The pieces of a study."""

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
        self.ablating = {
            (variant, seed): self._train(
                f"{variant.group} {variant.label}", variant.train, variant.validation,
                replace(variant.settings, seed=seed),
            )
            for variant in plan.variants
            for seed in plan.seeds
        }  # fmt: skip

    def _train(
        self,
        name: str,
        train: tuple[Path, ...],
        validation: tuple[Path, ...],
        settings: TrainSettings,
    ) -> Piece:
        # Named after what it depends on alone: an ablation's usual value is the method itself.
        key = digest([contents(train), contents(validation), settings.to_dict()])
        run = self.out / "runs" / f"{settings.loss}-seed-{settings.seed}-{key}"
        # The answer lies beside the model, so that there is not one without the other.
        return Piece(
            f"{name} seed {settings.seed}", run / "answer.json", train_job,
            (train, validation, settings, run),
        )  # fmt: skip

    def testing(self) -> list[Piece]:
        """List the clusterings of all tests, and the fine-tunings."""
        pieces, cache, most = [], self.out / "cache", self.plan.finetune_iterations
        for test in self.plan.tests:
            data = _fingerprint(test)
            columns = [name for name, _ in columns_of(test)]
            for method in self.plan.methods:
                for seed in self.plan.seeds:
                    run, origin = self._origin(method, seed)
                    name = f"{test.name} {method.name} seed {seed}"
                    whole = seed == self.plan.seeds[0]
                    pieces.append(
                        Piece.of(
                            name, cache, test_job, (test, method, run, seed, whole),
                            data=data, origin=origin, seed=seed, whole=whole,
                        )
                    )  # fmt: skip
                    pieces += [
                        Piece.of(
                            f"{name} finetuned {column}", cache, finetune_job,
                            (test, method, run, column, most, seed),
                            data=data, origin=origin, seed=seed, column=column, most=most,
                        )
                        for column in columns
                        if method.finetune
                    ]  # fmt: skip
        return pieces

    def timing(self) -> list[Piece]:
        """List the one measurement of how long each loss takes."""
        methods = [
            (method.name, method.settings)
            for method in self.plan.methods
            if method.settings and method.key == method.settings.loss
        ]
        if not methods:
            return []
        arguments = (self.plan.train, self.plan.validation, methods)
        return [
            Piece.of(
                "seconds an epoch", self.out / "cache", time_losses, arguments,
                train=contents(self.plan.train),
                methods=[(name, settings.to_dict()) for name, settings in methods],
            )
        ]  # fmt: skip

    def _origin(self, method: Method, seed: int) -> tuple[Path | None, Any]:
        """Say where a method's model comes from, and what that depends on."""
        if job := self.training.get((method.name, seed)):
            return job.file.parent, job.file.parent.name
        if method.model is not None:
            return None, contents((method.model,))
        return None, [method.rounds, method.reach, method.nearest]

    def results(self, testing: Sequence[Piece], timing: Sequence[Piece]) -> Results:
        """Gather what the pieces found."""
        records, shown = [], []
        curves: dict[tuple[str, str], dict[str, tuple[Curve, int]]] = {}
        for (method, seed), job in self.training.items():
            with job.answer() as best:
                records.append(_on_validation("validation", "all of it", method, seed, best))
        for (variant, seed), job in self.ablating.items():
            with job.answer() as best:
                one = _on_validation("ablation", variant.group, variant.label, seed, best)
            records.append(one)
        for job in testing:
            with job.answer() as answer:
                records += [Record(**one) for one in answer["records"]]
                shown += [Shown(**one) for one in answer.get("shown", ())]
                for column, one in answer.get("curves", {}).items():
                    place = curves.setdefault((job.arguments[0].name, column), {})
                    place[job.arguments[1].name] = _curve(**one)
        found = Results(records, curves=curves, shown=shown)
        for test in self.plan.tests:
            columns = list(columns_of(test))
            found.statistics[test.name] = [statistics(tracks, name) for name, tracks in columns]
            videos = [tracks for name, tracks in columns if name not in test.combined]
            counts, background = tracks_per_identity(TrackSet.join(videos))
            found.skew[test.name] = (counts.tolist(), background.tolist())
        for job in timing:
            with job.answer() as answer:
                found.seconds.update(
                    {name: float(seconds) for name, seconds in answer["seconds"].items()}
                )
        return found


def _curve(chosen: int, **values: list[float]) -> tuple[Curve, int]:
    """Make a curve of what was kept of it."""
    arrays = {name: np.array(of) for name, of in values.items()}
    curve = Curve(**arrays)
    if any(one.shape != (len(curve.nmi),) or one.dtype.kind not in "if" for one in arrays.values()):
        raise ValueError("not a curve")
    return curve, int(chosen)


def _fingerprint(test: Test) -> list[Any]:
    """Return all of a test that its figures depend on; where its files lie is none of it."""
    return [
        test.name, contents(test.tracks), contents(test.validation), test.combined, test.paper,
        test.gallery, test.most,
    ]  # fmt: skip


def _on_validation(test: str, column: str, method: str, seed: int, best: dict[str, Any]) -> Record:
    """Make a record of how a model did on validation: at its τ, whatever that came from."""
    names = ("n_clusters", "nmi", "wcp")
    if "operating" in best:
        names = ("operating_clusters", "operating_nmi", "operating_wcp")
    clusters, nmi, wcp = (best[name] for name in names)
    return Record(test, column, method, seed, "own", best["n_characters"], clusters, nmi, wcp)
