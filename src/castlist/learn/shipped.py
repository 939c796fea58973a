"""The model that comes with castlist, trained by us (docs/research/models.md)."""

from __future__ import annotations

import hashlib
from importlib.resources import as_file, files

from castlist.errors import InputError
from castlist.learn.model import BallModel
from castlist.learn.model_file import load_model

#: Model files in ``castlist/models``, by the describer whose features they take.
SHIPPED = {
    "SFace-TV": "sface_tv.safetensors",
    "SFace": "sface.safetensors",
    "edgeface": "edgeface.safetensors",
    "arcface-mbf": "arcface_mbf.safetensors",
}


def shipped_print() -> str:
    """Return a fingerprint of the models that come with castlist, for who depends on them."""
    digest = hashlib.sha256()
    for name in sorted(SHIPPED.values()):
        digest.update((files("castlist") / "models" / name).read_bytes())
    return digest.hexdigest()


def shipped_model(describer: str = "SFace-TV") -> BallModel:
    """Return the model that comes with castlist for a describer's features."""
    if describer not in SHIPPED:
        raise InputError(
            f"castlist comes with no model for features of {describer}; describe labelled faces "
            "with it (castlist describe), train one (castlist train), and give it (--model)"
        )
    with as_file(files("castlist") / "models" / SHIPPED[describer]) as path:
        return load_model(path)
