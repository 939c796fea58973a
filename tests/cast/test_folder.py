from __future__ import annotations

import os
import shutil

import pytest

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.cast.folder import CAST, POINTS, TRACKS, read_scanned
from castlist.cast.series import join
from castlist.pipeline.run_manifest import read_manifest
from datasets.synthetic_casts import episode, made_video, write_folder


@pytest.mark.posix
@pytest.mark.parametrize("name", [CAST, POINTS, RUN, TRACKS])
@pytest.mark.parametrize("make", [lambda p: os.mkfifo(p), lambda p: os.symlink("/dev/zero", p)])
def test_a_pipe_or_a_device_is_no_file_of_a_cast(tmp_path, name, make):
    folder = write_folder(tmp_path / "film.cast", made_video(2, 1))
    (folder / name).unlink()
    make(folder / name)
    with pytest.raises(InputError, match=r"film\.cast"):
        read_scanned(folder)
    assert read_manifest(folder / name) == {}


@pytest.mark.posix
def test_a_pipe_is_no_file_of_a_joined_cast(tmp_path):
    join([episode(tmp_path, f"e{k}", seed=k) for k in range(2)], tmp_path / "all.cast")
    for name in (RUN, CAST):
        folder = shutil.copytree(tmp_path / "all.cast", tmp_path / f"{name}.cast")
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(InputError, match="not a cast"):
            read_scanned(folder)
