from __future__ import annotations

import hashlib
import json

import pytest

from castlist import BallModel, InputError, save_model
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.scan_model import model_of
from datasets.synthetic_casts import made_video, write_folder


def test_the_model_is_the_one_that_the_scan_began_with(tmp_path):
    folder, file = write_folder(tmp_path / "film.cast", made_video()), tmp_path / "m.safetensors"
    save_model(BallModel([16, 8], describer="SFace"), file)
    run = json.loads((folder / RUN).read_text())
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    run["settings"] |= {"model": str(file), "model_print": found}
    (folder / RUN).write_text(json.dumps(run))
    with Corrections(folder) as cast:
        with pytest.raises(InputError, match=r"m.safetensors; give that model again"):
            model_of(cast)
        cast.model = file
        assert model_of(cast).dims == (16, 8)
        save_model(BallModel([16, 4], describer="SFace"), file)
        with pytest.raises(InputError, match=r"not the model that .*film\.cast was scanned with"):
            model_of(cast)
