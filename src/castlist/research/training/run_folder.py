"""The folder of a training run: the model, the log, and the state to resume from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from castlist.errors import InputError
from castlist.io.files import replacing
from castlist.model.ball_model import BallModel
from castlist.model.model_file import Tensors, read_tensors, save_model, write_tensors

MODEL = "model.safetensors"
LOG = "log.jsonl"
_STATE = "state.safetensors"


@dataclass(frozen=True)
class Saved:
    """A run after its last complete epoch. ``state`` has the tensors of network and loss."""

    history: list[dict[str, Any]]
    state: Tensors
    momentum: Tensors
    best: Tensors


@dataclass(frozen=True)
class Run:
    """The folder of a run. The state file is authoritative; the log is written from it."""

    folder: Path
    fingerprint: dict[str, Any]

    @classmethod
    def open(cls, folder: Path, fingerprint: dict[str, Any], restart: bool = False) -> Run:
        """Open the folder of a new or earlier run. ``restart`` deletes the earlier one."""
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; a run needs a folder")
        if restart:
            for name in (_STATE, LOG, MODEL):
                (folder / name).unlink(missing_ok=True)
        return cls(folder, fingerprint)

    def load(self) -> Saved | None:
        """Return the last complete epoch of this run, or None."""
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
                "choose another folder, or restart the run"
            )
        parts: dict[str, Tensors] = {"state": {}, "momentum": {}, "best": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            if part not in parts:
                raise InputError(f"{path}: damaged; choose another folder, or restart the run")
            parts[part][rest] = tensor
        if not isinstance(history, list) or not all(
            isinstance(one, dict) and {"collapsed", "nmi"} <= one.keys() for one in history
        ):
            raise InputError(f"{path}: damaged; choose another folder, or restart the run")
        return Saved(history=history, **parts)

    def save(
        self,
        history: list[dict[str, Any]],
        state: Tensors,
        momentum: Tensors,
        best: Tensors,
    ) -> None:
        """Save the run after an epoch, so that it can be resumed from here."""
        parts = {"state": state, "momentum": momentum, "best": best}
        write_tensors(
            self.folder / _STATE,
            {f"{part}.{name}": t for part, tensors in parts.items() for name, t in tensors.items()},
            {"fingerprint": self.fingerprint, "history": history},
        )
        self._write_log(history)

    def finish(self, history: list[dict[str, Any]], model: BallModel) -> None:
        """Write the final log and the model."""
        self._write_log(history)  # a run killed right after save() may lack its last line
        save_model(model, self.folder / MODEL)

    def _write_log(self, history: list[dict[str, Any]]) -> None:
        with replacing(self.folder / LOG) as partial:
            partial.write_text("".join(json.dumps(record) + "\n" for record in history), "utf-8")
