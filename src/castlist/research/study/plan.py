"""The plan of a study: a TOML file that lists data, methods, seeds and ablations."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from castlist.errors import InputError
from castlist.io.authors import is_authors_folder, open_authors, series_of
from castlist.io.untrusted import read_small
from castlist.research.training.finetune import FinetuneSettings
from castlist.research.training.train_settings import LOSS_NAMES, RECIPES, TrainSettings

#: Limits of ``--quick``, which shows that a plan works; its figures mean nothing.
QUICK_EPOCHS, QUICK_FINETUNE, QUICK_VIDEOS, QUICK_VARIANTS = 6, 60, 2, 2


_MOST_BYTES = 2**20  # of a plan
_SETTABLE = tuple(one.name for one in fields(TrainSettings))


@dataclass(frozen=True)
class Method:
    """A method that groups tracks into characters.

    Attributes
    ----------
    name : name in plans and records.
    settings : training settings; None if nothing is trained.
    model : path of an existing model to use instead of training one.
    key : its name in ``paper.toml``, if the paper has figures for it.
    finetune : whether it is also fine-tuned on each video.
    constraints : of fine-tuning, as in :class:`castlist.research.FinetuneSettings`; by default
        those of its loss.
    kmeans_variants : whether X-means and G-means are run on its embeddings.
    rounds, reach, nearest, share : neighbour averaging, for the base features.
    """

    name: str
    settings: TrainSettings | None = None
    model: Path | None = None
    key: str = ""
    finetune: bool = False
    constraints: str = ""
    kmeans_variants: bool = False
    rounds: int = 0
    reach: float = TrainSettings.reach
    nearest: float = TrainSettings.nearest
    share: float = TrainSettings.share

    @property
    def is_base(self) -> bool:
        """Whether it clusters the describer's features, without a model."""
        return self.settings is None and self.model is None

    @property
    def own_threshold(self) -> bool:
        """Whether it stops at its own τ = 4b; other methods use a τ chosen on validation."""
        if self.settings is not None:
            return self.settings.loss == "ball" and not self.settings.operating
        return self.model is not None


#: Built-in methods: the base features, every loss with the paper's recipe, and our recipe.
METHODS: dict[str, Method] = {
    "base": Method("base", key="base", kmeans_variants=True),
    **{
        loss: Method(
            loss,
            TrainSettings(loss=loss),
            key=loss,
            finetune=loss in ("triplet", "prototypical", "ball"),  # supplement A
            kmeans_variants=loss == "ball",  # supplement B
        )
        for loss in LOSS_NAMES
    },
    "neighbours": Method("neighbours", RECIPES["neighbours"], finetune=True, kmeans_variants=True),
}


@dataclass(frozen=True)
class Test:
    """A test set: labelled tracks on which nothing is chosen.

    Attributes
    ----------
    name : heading of its tables.
    tracks, validation : track files or folders. The τ of methods without their own is chosen on
        the second.
    combined : column name → pattern of videos that are also clustered together.
    paper : whether its columns are the paper's, so that tables show the paper's figures too.
    faces : folder of pictures ``<video>/<track>.jpg`` for the galleries.
    gallery : columns whose clusters the page shows.
    most : maximum number of videos to use, in order.
    boxes : whether to read frames and boxes of tracks in the authors' layout.
    """

    name: str
    tracks: tuple[Path, ...]
    validation: tuple[Path, ...]
    combined: dict[str, str] = field(default_factory=dict)
    paper: bool = False
    faces: Path | None = None
    gallery: tuple[str, ...] = ()
    most: int | None = None
    boxes: bool = True


@dataclass(frozen=True)
class Variant:
    """One change to a method, measured on validation.

    Attributes
    ----------
    group, label : the setting that changes, and its value, as the table prints them.
    settings : training settings with the change.
    train, validation : track files or folders; those of another describer, if that is the change.
    parameters : number of parameters of that describer, for the table.
    """

    group: str
    label: str
    settings: TrainSettings
    train: tuple[Path, ...]
    validation: tuple[Path, ...]
    parameters: int | None = None


@dataclass(frozen=True)
class Plan:
    """A study: data, methods, seeds and ablations."""

    title: str
    seeds: tuple[int, ...]
    train: tuple[Path, ...]
    validation: tuple[Path, ...]
    tests: tuple[Test, ...]
    methods: tuple[Method, ...]
    variants: tuple[Variant, ...] = ()
    finetune_iterations: int = FinetuneSettings.iterations

    def quick(self) -> Plan:
        """Return the study with one seed, few epochs, few videos and little fine-tuning."""
        return replace(
            self,
            seeds=self.seeds[:1],
            methods=tuple(
                replace(method, settings=_quick_settings(method.settings))
                if method.settings
                else method
                for method in self.methods
            ),
            tests=tuple(replace(test, combined={}, most=QUICK_VIDEOS) for test in self.tests),
            variants=tuple(
                replace(v, settings=_quick_settings(v.settings))
                for v in self.variants[:QUICK_VARIANTS]
            ),
            finetune_iterations=QUICK_FINETUNE,
        )


def _quick_settings(settings: TrainSettings) -> TrainSettings:
    return replace(settings, epochs=QUICK_EPOCHS, validate_every=QUICK_EPOCHS)


def read_plan(path: str | Path) -> Plan:
    """Return the plan in a TOML file. Relative paths start at the file's folder.

    A folder is read as the authors' download: their features, labels and checkpoint. Its plan is
    their rows of the paper's tables.
    """
    path = Path(path)
    if path.is_dir():
        return _authors_plan(path)
    try:
        text = tomllib.loads(read_small(path, _MOST_BYTES).decode("utf-8"))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise InputError(f"{path}: not TOML ({error})") from error
    try:
        return _plan(path, text)
    except InputError:  # a subclass of ValueError
        raise
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError, OSError) as error:
        raise InputError(f"{path}: a value has the wrong type ({error})") from error


def _plan(path: Path, text: dict[str, Any]) -> Plan:
    reader = _Reader(path)
    plan = reader.table("", text, required=("title", "test"), optional=(
        "seeds", "train", "methods", "method", "ablation", "finetune_iterations"))  # fmt: skip
    train = reader.table("train", plan.get("train", {}), optional=("tracks", "validation"))
    seeds = tuple(plan.get("seeds", (0, 1, 2)))
    if not seeds or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
        raise InputError(f"{path}: seeds must be integers of 0 or more, not {plan.get('seeds')}")
    tests = tuple(_test(reader, one, train) for one in plan["test"])
    methods = _methods(reader, plan)
    for what, names in (
        ("test", [test.name for test in tests]), ("method", [one.name for one in methods]),
        ("seed", list(seeds)),
    ):  # fmt: skip
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"{path}: {what} {twice[0]!r} is defined twice")
    without_validation = [test.name for test in tests if not test.validation]
    rivals = [method.name for method in methods if not method.own_threshold]
    if without_validation and rivals:
        raise InputError(
            f"{path}: test {without_validation[0]!r} needs validation tracks, to choose "
            f"the threshold of {rivals[0]!r} on"
        )
    if any(method.settings for method in methods) and not train.get("tracks"):
        raise InputError(f"{path}: [train] needs tracks: the plan has methods to train")
    return Plan(
        title=str(plan["title"]),
        seeds=seeds,
        train=reader.paths(train.get("tracks", ())),
        validation=reader.paths(train.get("validation", ())),
        tests=tests,
        methods=methods,
        variants=_variants(reader, plan, methods, train),
        finetune_iterations=int(plan.get("finetune_iterations", Plan.finetune_iterations)),
    )


def _authors_plan(folder: Path) -> Plan:
    """Return the study of the authors' released features with their checkpoint."""
    if not is_authors_folder(folder) or not (folder / "features").is_dir():
        raise InputError(
            f"{folder}: neither a TOML plan nor the authors' download, which has the folders "
            "'ids' and 'features'"
        )
    checkpoints = sorted(folder.rglob("*.pth.tar"))
    if len(checkpoints) != 1:
        raise InputError(
            f"{folder}: needs one checkpoint (*.pth.tar) in it, but has {len(checkpoints)}"
        )
    videos = [file.stem for file in sorted((folder / "ids").glob("*.ids"))]
    series = [found for video in videos if (found := series_of(video))]
    combined = {name.upper(): f"{name}_*" for name in sorted(set(series)) if series.count(name) > 1}
    if len(set(series)) > 1:
        combined["BOTH"] = "*"
    try:
        open_authors(folder)
        boxes = any(folder.rglob("*.facetracks.mat"))
    except InputError:  # features of other faces than the boxes; without boxes there is no pair
        open_authors(folder, boxes=False)
        boxes = False
    method = Method(
        "authors", model=checkpoints[0], key="ball", finetune=boxes, kmeans_variants=True
    )
    test = Test("Episodes", (folder,), (), combined, paper=True, boxes=boxes)
    return Plan("The authors' features and checkpoint", (0,), (), (), (test,), (method,))


class _Reader:
    """Validates TOML tables and resolves paths; its errors name the file and the table."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def table(
        self, where: str, value: Any, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError(f"{self.path}: {where} must be a table")
        for name in required:
            if name not in value:
                raise InputError(f"{self.path}: {where or 'the file'} needs {name!r}")
        if unknown := set(value) - {*required, *optional}:
            raise InputError(
                f"{self.path}: {where or 'the file'} has the unknown key "
                f"{sorted(unknown)[0]!r}; known keys: {', '.join((*required, *optional))}"
            )
        return value

    def settings(self, where: str, base: TrainSettings, changes: dict[str, Any]) -> TrainSettings:
        if "hidden" in changes:
            changes = {**changes, "hidden": tuple(changes["hidden"])}
        try:
            return replace(base, **changes)
        except (TypeError, InputError) as error:
            raise InputError(f"{self.path}: {where}: {error}") from error

    def paths(self, value: Any) -> tuple[Path, ...]:
        names = [value] if isinstance(value, str) else list(value)
        found = []
        for name in names:
            one = self.path.parent / str(name)
            if not one.exists():
                raise InputError(f"{self.path}: {one}: no such file or folder")
            found.append(one)
        return tuple(found)


def _test(reader: _Reader, value: Any, train: dict[str, Any]) -> Test:
    table = reader.table("[[test]]", value, ("name", "tracks"), (
        "validation", "combined", "paper", "faces", "gallery"))  # fmt: skip
    faces = reader.paths(table["faces"])[0] if "faces" in table else None
    gallery = table.get("gallery", ())
    return Test(
        name=str(table["name"]),
        tracks=reader.paths(table["tracks"]),
        validation=reader.paths(table.get("validation", train.get("validation", ()))),
        combined={str(k): str(v) for k, v in table.get("combined", {}).items()},
        paper=bool(table.get("paper", False)),
        faces=faces,
        gallery=tuple([gallery] if isinstance(gallery, str) else gallery),
    )


def _methods(reader: _Reader, plan: dict[str, Any]) -> tuple[Method, ...]:
    own = {}
    for name, value in plan.get("method", {}).items():
        where = f"[method.{name}]"
        keys = ("like", "model", "key", "finetune", "constraints")
        table = reader.table(where, value, (), (*keys, *_SETTABLE))
        like = str(table.get("like", name))
        if "like" in table and like not in METHODS:
            raise InputError(f"{reader.path}: {where}: like must be one of {', '.join(METHODS)}")
        base = METHODS.get(like, Method(name, TrainSettings()))
        changes = {key: table[key] for key in _SETTABLE if key in table}
        if "model" in table:
            made = Method(name, model=reader.paths(table["model"])[0])
        elif base.settings is None:  # the base features: only neighbour averaging can be set
            made = replace(base, name=name, **changes)
        else:
            made = replace(base, name=name, settings=reader.settings(where, base.settings, changes))
        own[name] = replace(
            made,
            # Changing a built-in method keeps its key; a method that is `like` it has none.
            key=str(table.get("key", made.key if like == name else "")),
            finetune=bool(table.get("finetune", made.finetune)),
            constraints=_constraints(reader, where, table),
            kmeans_variants=made.kmeans_variants and like == name,
        )
    known = {**METHODS, **own}
    names = plan.get("methods", [*METHODS, *(name for name in own if name not in METHODS)])
    if unknown := [name for name in names if name not in known]:
        raise InputError(
            f"{reader.path}: unknown method {unknown[0]!r}; known methods: {', '.join(known)}; "
            "define others in [method.NAME]"
        )
    return tuple(known[name] for name in names)


def _constraints(reader: _Reader, where: str, table: dict[str, Any]) -> str:
    value = str(table.get("constraints", ""))
    try:
        FinetuneSettings(constraints=value or "ball")
    except InputError as error:
        raise InputError(f"{reader.path}: {where}: {error}") from error
    return value


def _variants(
    reader: _Reader, plan: dict[str, Any], methods: tuple[Method, ...], train: dict[str, Any]
) -> tuple[Variant, ...]:
    trained = {method.name: method.settings for method in methods if method.settings}
    found = []
    for group, value in plan.get("ablation", {}).items():
        where = f"[ablation.{group!r}]"
        table = dict(value) if isinstance(value, dict) else {}
        base = trained.get(table.pop("of", ""))
        if base is None:
            raise InputError(f"{reader.path}: {where}: of must be one of {', '.join(trained)}")
        for label, one in table.items():
            change = dict(
                reader.table(
                    f"{where} {label}", one, (), ("tracks", "validation", "parameters", *_SETTABLE)
                )
            )
            data = {
                name: reader.paths(change.pop(name, train.get(name, ())))
                for name in ("tracks", "validation")
            }
            parameters = change.pop("parameters", None)
            if parameters is not None and not isinstance(parameters, int):
                raise InputError(f"{reader.path}: {where} {label}: parameters must be an integer")
            settings = reader.settings(f"{where} {label}", base, change)
            found.append(
                Variant(group, label, settings, data["tracks"], data["validation"], parameters)
            )
    return tuple(found)
