"""The model of a scan, for whoever embeds something beside its tracks."""

from __future__ import annotations

import hashlib

from castlist.cast.current import CurrentCast
from castlist.cast.episodes import MODEL
from castlist.errors import InputError
from castlist.io.files import printable
from castlist.model.ball_model import BallModel
from castlist.model.model_file import load_model
from castlist.model.shipped import shipped_model


def model_of(cast: CurrentCast) -> BallModel:
    """Return the model that the scan was given.

    A model file that only ``run.json`` names is not opened: the folder may come from a stranger.
    """
    if cast.scanned.joined:  # it has the model of its videos
        return load_model(cast.folder / MODEL)
    noted = cast.scanned.run.get("settings", {})
    name = str(noted.get("model", "shipped"))
    if name == "shipped":
        return shipped_model(cast.tracks.describer or "SFace-TV")
    if cast.model is None:
        raise InputError(
            f"{cast.scanned.folder} was scanned with the model {printable(name)}; give that model "
            "again, as a file that only a cast names is not opened"
        )
    model = load_model(cast.model)
    wanted = noted.get("model_print")
    if wanted and hashlib.sha256(cast.model.read_bytes()).hexdigest() != wanted:
        raise InputError(
            f"{cast.model}: not the model that {cast.scanned.folder} was scanned with; give that "
            "model, or scan the video again"
        )
    return model
