from __future__ import annotations

import json

import numpy as np
import pytest

from castlist import InputError
from castlist.io.truth import read_missed, read_truth

HEADER = "time,x,y,w,h,who\n"


def test_truth_is_read(tmp_path):
    path = tmp_path / "film.csv"
    path.write_text(
        f'{HEADER}0.2,1,2,30,40,"Lee, Anna"\n0,5.5,-6,7,8,notface\n\n0.4,1,2,3,4,unsure\n', "utf-8"
    )
    truth = read_truth(path)
    assert truth.time.tolist() == [0.2, 0.0, 0.4]
    assert truth.box.tolist() == [[1, 2, 30, 40], [5.5, -6, 7, 8], [1, 2, 3, 4]]
    assert truth.who.tolist() == ["Lee, Anna", "notface", "unsure"]
    assert truth.scored.tolist() == [True, False, False]


def test_a_clip_without_faces_has_truth_too(tmp_path):
    (tmp_path / "film.csv").write_text(HEADER)
    truth = read_truth(tmp_path / "film.csv")
    assert (truth.time.shape, truth.box.shape, truth.who.shape) == ((0,), (0, 4), (0,))
    assert not truth.scored.any()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the first line must be time,x,y,w,h,who"),
        ("time,who\n0,anna\n", "the first line must be"),
        (f"{HEADER}0,1,2,3,4\n", "line 2: expected time,x,y,w,h,who, found '0,1,2,3,4'"),
        (f"{HEADER}0,1,2,3,4,anna,more\n", "line 2"),
        (f"{HEADER}0,1,2,3,4,anna\nx,1,2,3,4,anna\n", "line 3"),
        (f"{HEADER}nan,1,2,3,4,anna\n", "line 2"),
        (f"{HEADER}0,1,2,0,4,anna\n", "line 2"),
        (f"{HEADER}0,1,2,3,4,\n", "line 2"),
        (f"{HEADER}0,1,2,3,4,{'a' * 2000}\n", "line 2"),
        (f"{HEADER}\0,1,2,3,4,\xff\n".encode("latin-1"), "cannot be read as a CSV file"),
    ],
)
def test_what_is_no_truth_is_refused(tmp_path, text, says):
    path = tmp_path / "film.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=says):
        read_truth(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_truth(tmp_path / "nothere.csv")


def test_missed_stretches_are_read(tmp_path):
    path = tmp_path / "film.json"
    path.write_text(json.dumps([{"who": "anna", "from": 1, "to": 2.5}, {"from": 4, "to": 4}]))
    assert read_missed(path).tolist() == [[1, 2.5], [4, 4]]
    path.write_text("[]")
    assert read_missed(path).shape == (0, 2)
    assert read_missed(path).dtype == np.float64


@pytest.mark.parametrize(
    "text",
    ["", "{}x", "7", "[7]", '[{"from": 1}]', '[{"from": 2, "to": 1}]', '[{"from": "a", "to": 1}]',
     '[{"from": NaN, "to": 1}]', '[{"from": 1, "to": Infinity}]'],
)  # fmt: skip
def test_what_are_no_stretches_is_refused(tmp_path, text):
    path = tmp_path / "film.json"
    path.write_text(text)
    with pytest.raises(InputError, match="film.json"):
        read_missed(path)
