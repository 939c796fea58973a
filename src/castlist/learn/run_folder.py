"""The folder of one training run: what it made, and what it needs to go on after being killed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from castlist.errors import InputError
from castlist.io.files import replacing
from castlist.learn.model import BallModel
from castlist.learn.model_file import Tensors, read_tensors, save_model, write_tensors

MODEL = "model.safetensors"
LOG = "log.jsonl"
_STATE = "state.safetensors"


@dataclass(frozen=True)
class Saved:
    """A run as it was after its last whole epoch; ``state`` is of the model and of the loss."""

    history: list[dict[str, Any]]
    state: Tensors
    momentum: Tensors
    best: Tensors


@dataclass(frozen=True)
class Run:
    """A run's folder. The state file alone says how far the run is; the log is made from it."""

    folder: Path
    fingerprint: dict[str, Any]

    @classmethod
    def open(cls, folder: Path, fingerprint: dict[str, Any], restart: bool = False) -> Run:
        """Open a run's folder, new or begun; ``restart`` forgets what was begun."""
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; a run needs a folder")
        if restart:
            for name in (_STATE, LOG, MODEL):
                (folder / name).unlink(missing_ok=True)
        return cls(folder, fingerprint)

    def load(self) -> Saved | None:
        """Return the last whole epoch of this run, if there is one."""
        path = self.folder / _STATE
        if not path.exists():
            return None
        tensors, about = read_tensors(path)
        history, theirs = about.get("history"), about.get("fingerprint")
        if theirs != self.fingerprint:
            settings = theirs.get("settings") if isinstance(theirs, dict) else None
            before = settings if isinstance(settings, dict) else {}
            ours = self.fingerprint["settings"]
            changed = [name for name in ours if ours[name] != before.get(name)]
            raise InputError(
                f"{self.folder} holds a run with other {', '.join(changed) or 'data'}; "
                "give another folder, or restart it"
            )
        parts: dict[str, Tensors] = {"state": {}, "momentum": {}, "best": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            if part not in parts:
                raise InputError(f"{path}: damaged; give another folder, or restart it")
            parts[part][rest] = tensor
        if not isinstance(history, list) or not all(
            isinstance(one, dict) and {"collapsed", "nmi"} <= one.keys() for one in history
        ):
            raise InputError(f"{path}: damaged; give another folder, or restart it")
        return Saved(history=history, **parts)

    def save(
        self,
        history: list[dict[str, Any]],
        state: Tensors,
        momentum: Tensors,
        best: Tensors,
    ) -> None:
        """Keep an epoch: whatever happens next, the run goes on from here."""
        parts = {"state": state, "momentum": momentum, "best": best}
        write_tensors(
            self.folder / _STATE,
            {f"{part}.{name}": t for part, tensors in parts.items() for name, t in tensors.items()},
            {"fingerprint": self.fingerprint, "history": history},
        )
        self._write_log(history)

    def finish(self, history: list[dict[str, Any]], model: BallModel) -> None:
        """Write the model that the run was for."""
        self._write_log(history)  # killed after the state of its last epoch, it lacks that one
        save_model(model, self.folder / MODEL)

    def _write_log(self, history: list[dict[str, Any]]) -> None:
        with replacing(self.folder / LOG) as partial:
            partial.write_text("".join(json.dumps(record) + "\n" for record in history))
