from __future__ import annotations

import os

import pytest

from castlist import InputError
from castlist.io.cast_files import is_own_file, refuse_links
from castlist.io.pictures import jpeg_of, pictures_of, read_covers


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.cast" / "episodes" / "one" / "faces").mkdir(parents=True)
    (tmp_path / "x.cast" / "run.json").write_text("{}")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.txt").write_text("dear diary")
    return tmp_path / "x.cast"


@pytest.mark.parametrize("target", ["private", "private/diary.txt", "nothing"])
@pytest.mark.parametrize(
    "name", ["cast.json", "faces", "Tracks.parquet", "episodes/two", "episodes/one/faces",
             "episodes/one/characters.npy", "parts/000000.npz"],
)  # fmt: skip
def test_a_link_in_a_cast_is_refused_wherever_it_leads(folder, name, target):
    refuse_links(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    if (folder / name).is_dir():
        (folder / name).rmdir()
    (folder / name).symlink_to(folder.parent / target)
    with pytest.raises(InputError, match=f"{name} is a link, and the files of a cast may not"):
        refuse_links(folder)


def test_a_linked_cast_and_links_beside_its_files_are_the_users(folder, tmp_path):
    (folder / "film.mp4").symlink_to(tmp_path / "private")
    (tmp_path / "y.cast").symlink_to(folder)
    refuse_links(tmp_path / "y.cast")
    refuse_links(tmp_path / "none")


@pytest.mark.posix
def test_only_pictures_of_the_cast_itself_are_read(folder, tmp_path):
    faces = folder / "episodes" / "one" / "faces"
    (tmp_path / "private" / "me.jpg").write_bytes(b"\xff\xd8\xff\xe0 me")
    (faces / "a_0.jpg").symlink_to(tmp_path / "private" / "me.jpg")
    (faces / "a_1.jpg").write_bytes(b"\xff\xd8\xff\xe0 anna")
    (faces / "a_2.jpg").write_text("no picture")
    os.mkfifo(faces / "b_0.jpg")
    (faces / "covers.json").symlink_to(tmp_path / "private" / "diary.txt")
    assert pictures_of(faces, "a") == [faces / "a_1.jpg", faces / "a_2.jpg"]
    assert pictures_of(faces, "b") == []
    read = [jpeg_of(faces / f"{name}.jpg") for name in ("a_0", "a_1", "a_2", "b_0", "none")]
    assert read == [None, b"\xff\xd8\xff\xe0 anna", None, None, None]
    assert read_covers(faces) == {}
    assert not is_own_file(faces)
    assert not is_own_file(faces / "\0")
