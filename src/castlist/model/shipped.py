"""The models that come with castlist (docs/research/models.md)."""

from __future__ import annotations

import hashlib
from importlib.resources import as_file, files

from castlist.errors import InputError
from castlist.model.ball_model import BallModel
from castlist.model.model_file import load_model

#: Model files in ``castlist/models``, by the describer whose features they take.
SHIPPED = {
    "SFace-TV": "sface_tv.safetensors",
    "SFace": "sface.safetensors",
    "edgeface": "edgeface.safetensors",
    "arcface-mbf": "arcface_mbf.safetensors",
}


def shipped_print() -> str:
    """Return a fingerprint of all shipped models, to detect results of other ones."""
    digest = hashlib.sha256()
    for name in sorted(SHIPPED.values()):
        digest.update((files("castlist") / "models" / name).read_bytes())
    return digest.hexdigest()


def shipped_model(describer: str = "SFace-TV") -> BallModel:
    """Return the shipped model for the features of a describer."""
    if describer not in SHIPPED:
        raise InputError(
            f"castlist comes with no model for features of {describer}; train one on labelled "
            "faces described by it, and pass that model"
        )
    with as_file(files("castlist") / "models" / SHIPPED[describer]) as path:
        return load_model(path)
