from __future__ import annotations

from castlist.cast.corrections import Corrections
from castlist.cast.folder import EPISODES, FACES
from castlist.cast.join import add, join
from tests.cast.test_join import episode


def test_pictures_of_an_add_that_was_killed_are_not_those_of_the_next(tmp_path):
    one, two, three = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3))
    join([one, two], tmp_path / "season.cast")
    left = tmp_path / "season.cast" / EPISODES / "e3" / FACES
    left.mkdir(parents=True)
    (left / "0000_2.jpg").write_bytes(b"somebody else of another e3")
    add(tmp_path / "season.cast", three)
    assert not (left / "0000_2.jpg").exists()
    cast = Corrections(tmp_path / "season.cast")
    assert cast.pictures["e3:0000"] == 2
