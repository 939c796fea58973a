"""A film that can be reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.synthetic_casts import made_video, write_film, write_folder, write_frames


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """The folder of a cast with pictures, its video beside it."""
    folder = tmp_path_factory.mktemp("films") / "film.cast"
    tracks = made_video()
    write_film(folder.with_name("film.mp4"), tracks)
    write_folder(folder, tracks, pictures=True)
    write_frames(folder, tracks)
    return folder
