from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from castlist import Corrections, InputError, read_tracks
from castlist.cast.cast_file import load_cast
from castlist.export.timeline import timelines
from castlist.export.truth import truth_lines
from castlist.export.write import ExportSettings, export_cast
from castlist.io.truth import read_truth
from castlist.research.score.clip import score_clip
from datasets.synthetic_casts import made_video, write_folder
from tests.export.casts import AWKWARD, made_cast, made_timeline, nobody


def rows_of(one):
    return list(csv.DictReader(io.StringIO("".join(truth_lines(one)), newline="")))


def test_one_row_per_face_by_time(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    text = "".join(truth_lines(one))
    assert text.startswith("time,x,y,w,h,who\n0.000,600.00,20.00,80.00,90.00,")
    rows = rows_of(one)
    times = [float(row["time"]) for row in rows]
    assert len(rows) == one.tracks.n_faces
    assert times == sorted(times)
    assert {row["who"] for row in rows} == {AWKWARD, "Character 1"}
    first = rows[1]
    assert [float(first[k]) for k in "xywh"] == [300, 20, 80, 90]
    assert (first["time"], first["who"]) == ("0.000", "Character 1")


def test_what_is_no_face_says_so(tmp_path):
    assert {row["who"] for row in rows_of(nobody(tmp_path / "film.cast"))} == {"notface"}


def test_who_is_unsure_stays_unsure(tmp_path):
    cast = made_cast(tmp_path / "film.cast", spans=[(0, 1, 0), (2, 3, 1), (4, 5, 2)])
    for number in (1, 2):
        cast.name(number, "unsure")
    (one,) = timelines(cast)
    who = sorted(row["who"] for row in rows_of(one))
    assert who == ["Character 3"] * 6 + ["unsure"] * 12
    cast.name(1, "Anna")
    cast.name(2, "Anna")  # two who have one name are two people: they were not merged
    (one,) = timelines(cast)
    assert {row["who"] for row in rows_of(one)} == {"Anna (1)", "Anna (2)", "Character 3"}


def test_faces_without_a_box_have_no_row(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    one.tracks.box[:5] = np.nan
    assert len(rows_of(one)) == one.tracks.n_faces - 5


def test_a_rate_is_for_others(tmp_path):
    cast = made_cast(tmp_path / "film.cast")
    with pytest.raises(InputError, match="truth is in seconds"):
        export_cast(cast, "truth", tmp_path / "a.csv", ExportSettings(rate=25.0))


def test_it_goes_into_a_csv_file_again_and_over_no_other(tmp_path):
    cast = made_cast(tmp_path / "film.cast")
    for name in ("film.csv", "film.truth.csv"):
        (path,) = export_cast(cast, "truth", tmp_path / name)
        before = path.read_text("utf-8")
        cast.name(1, name)
        export_cast(cast, "truth", path)
        assert path.read_text("utf-8") != before
    (tmp_path / "film.mp4").write_text("mine")
    with pytest.raises(InputError, match="not a .csv file"):
        export_cast(cast, "truth", tmp_path / "film.mp4")


def test_a_cast_scored_against_itself_is_perfect(tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video())
    (path,) = export_cast(Corrections(folder), "truth", tmp_path / "film.csv")
    tracks = read_tracks(folder / "tracks.parquet")
    one = score_clip(tracks, load_cast(folder / "cast.json", tracks).labels(), read_truth(path))
    assert (one.people, one.characters, one.tracks) == (4, 4, 20)
    assert (one.nmi, one.wcp, one.accuracy, one.seen) == (1, 1, 1, 1)
    assert (one.wrong, one.pieces, one.mixed, one.false, one.lost) == (0, 0, 0, 0, 0)


def test_a_reviewed_cast_scored_against_itself_is_perfect_too(tmp_path):
    cast = Corrections(write_folder(tmp_path / "film.cast", made_video()))
    cast.name(1, "Anna, called Ann")
    cast.merge([2, 3], waive=True)
    first, second = cast.tracks.ids[cast.character(4).tracks[:2]].tolist()
    cast.not_face([first])
    cast.move([second])  # to a character of its own
    (path,) = export_cast(cast, "truth", tmp_path / "film.csv")
    truth = read_truth(path)
    one = score_clip(cast.tracks, cast.cast.labels(), truth)
    assert (one.people, one.characters, one.tracks) == (4, 4, 19)
    assert (one.nmi, one.wrong, one.pieces, one.mixed, one.seen) == (1, 0, 0, 0, 1)
    assert (one.false, one.false_characters) == (1, 0)  # the one that is marked as no face
    # The scan did not know what was said since.
    clustered = score_clip(cast.tracks, cast.scanned.labels, truth)
    assert (clustered.pieces, clustered.wrong) == (1, 1)
