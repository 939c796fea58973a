"""Scans of videos whose tracks were made elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from castlist import InputError
from castlist.cast.corrections import Corrections
from castlist.cast.folder import REPORT
from castlist.export.write import export_cast
from castlist.pipeline.scan import PARTS, scan
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.checkpoint import Checkpoint
from castlist.video.tracking_settings import TrackingSettings
from datasets.clip_video import compose
from datasets.synthetic_casts import made_video, write_film
from tests.programs import castlist


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A drawn film, and its tracks as a MOT file: faces no detector need find."""
    folder = tmp_path_factory.mktemp("drawn")
    tracks = made_video(people=3, each=2)
    path = write_film(folder / "film.mp4", tracks)
    lines = [
        f"{round(time * 5) + 1},{row + 1},{x + 1},{y + 1},{w},{h},1,-1,-1,-1\n"
        for row, time, (x, y, w, h) in zip(
            tracks.track_of_face, tracks.time, tracks.box, strict=True
        )
    ]
    (folder / "film.txt").write_text("".join(lines))
    return path, tracks


def test_given_tracks_are_scanned_to_a_cast(film):
    path, tracks = film
    done = castlist("scan", path, "--tracks", path.with_suffix(".txt"), "--json")
    (found,) = json.loads(done.stdout)
    assert found["counts"]["given_tracks"] == len(tracks) == 6
    cast = Corrections(path.with_suffix(".cast"))
    assert len(cast.tracks) == 6
    np.testing.assert_allclose(
        np.sort(cast.tracks.time[cast.tracks.offsets[:-1]]),
        np.sort(tracks.time[tracks.offsets[:-1]]), atol=0.05,
    )  # fmt: skip
    assert (cast.cast.labels() >= 0).all()
    assert not cast.tracks.labelled.any()
    assert (path.with_suffix(".cast") / REPORT).read_text("utf-8").count("data:image/jpeg") >= 3
    pairs = cast.tracks.overlaps()
    assert len(pairs) == len(tracks.overlaps())
    labels = cast.cast.labels()
    assert (labels[pairs[:, 0]] != labels[pairs[:, 1]]).all()
    again = json.loads((cast.folder / "run.json").read_text("utf-8"))
    assert Path(again["settings"]["tracks"]).name == "film.txt"


@pytest.mark.parametrize("option", ["--characters", "--max-characters"])
def test_the_number_that_is_given_wins_and_it_is_said_what_that_takes(film, option):
    """Two people at a time are in the picture, and one character is asked for."""
    path, tracks = film
    words = ("scan", path, "--tracks", path.with_suffix(".txt"), option, 1)
    line = (
        "1 character required 3 pairs of tracks that share a frame in one character: "
        "tracks 00001 and 00002 at 0:00, 00003 and 00004 at 0:03, 00005 and 00006 at 0:06."
    )
    for _ in range(2):  # the second time nothing is done again, and it is said all the same
        said = castlist(*words).stdout
        assert line in said
        assert "1 character; 6 tracks" in said
    (found,) = json.loads(castlist(*words, "--json").stdout)
    run = json.loads((path.with_suffix(".cast") / "run.json").read_text("utf-8"))
    assert found["given_up"] == run["given_up"]
    assert found["given_up"]["count"] == len(tracks.overlaps()) == 3
    assert found["given_up"]["pairs"][1] == {"tracks": ["00003", "00004"], "time": 3.0}
    words = (*words[:-2], "--characters", 2)
    assert "required" not in castlist(*words).stdout
    (found,) = json.loads(castlist(*words, "--json").stdout)
    assert found["given_up"] == {"count": 0, "pairs": []}
    assert len(found["characters"]) == 2


def test_another_file_of_tracks_is_another_scan(film, tmp_path):
    path, _ = film
    some = tmp_path / "some.txt"
    some.write_text("".join(path.with_suffix(".txt").read_text().splitlines(True)[:5]))
    folder = tmp_path / "x.cast"
    settings = ScanSettings(tracks=path.with_suffix(".txt"))
    first = scan(path, folder, settings)
    assert len(first.cast.tracks) == 6
    told = []
    scan(path, folder, settings, progress=lambda *what: told.append(what))
    assert not told
    assert len(scan(path, folder, ScanSettings(tracks=some)).cast.tracks) == 1


def test_an_earlier_scan_is_whole_until_another_is_watched(film, tmp_path, monkeypatch):
    path, _ = film
    folder = tmp_path / "x.cast"
    settings = ScanSettings(tracks=path.with_suffix(".txt"))
    scan(path, folder, settings)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    def stop(*_):
        raise KeyboardInterrupt

    other = replace(settings, tracking=TrackingSettings(sample_rate=2.5))
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "join", stop)
        with pytest.raises(KeyboardInterrupt):
            scan(path, folder, other)
    assert list((folder / PARTS / "faces").glob("*.jpg"))
    assert {file: file.read_bytes() for file in before} == before
    told = []
    scan(path, folder, settings, progress=lambda *what: told.append(what))
    assert not told
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "no such file"), ("1,1,x", "line 1: expected"),
     ("99999,1,1,1,9,9", "of another video"), ("<!DOCTYPE a><a/>", "document type")],
)  # fmt: skip
def test_mistakes_are_told_before_anything_is_touched(film, tmp_path, text, says):
    path = tmp_path / "tracks"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=says):
        scan(film[0], tmp_path / "x.cast", ScanSettings(tracks=path))
    assert not (tmp_path / "x.cast").exists()
    done = castlist("scan", film[0], "-o", tmp_path, "--tracks", path, code=2)
    assert says in done.stderr


def test_tracks_are_of_one_video(film, tmp_path):
    done = castlist("scan", film[0], tmp_path / "b.mp4", "--tracks", tmp_path / "x", code=2)
    assert "one video at a time" in done.stderr


@pytest.fixture(scope="module")
def scanned(portraits, tmp_path_factory):
    """Four shots of real faces, scanned."""
    path = tmp_path_factory.mktemp("sample") / "sample.mp4"
    compose(portraits, path, seed=5, size=(640, 360), shots=4)
    return path, scan(path, settings=ScanSettings())


@pytest.mark.parametrize("to", ["mot", "cvat"])
def test_exported_tracks_of_real_faces_are_read_again(scanned, tmp_path, to):
    path, found = scanned
    cast = Corrections(found.folder)
    (file,) = export_cast(cast, to, tmp_path / "tracks")
    again = scan(path, tmp_path / "again.cast", ScanSettings(tracks=file))
    assert len(again.cast.tracks) == len(found.cast.tracks)
    assert len(again.cast.characters) == len(found.cast.characters)
    np.testing.assert_array_equal(again.cast.labels(), found.cast.labels())
    np.testing.assert_allclose(again.cast.tracks.spans, found.cast.tracks.spans)
    ours, theirs = (one.cast.tracks.mean_features() for one in (found, again))
    alike = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert alike.min() > 0.9


def test_a_face_cut_by_its_box_alone_is_still_its_own(portraits):
    """Landmarks guessed by the box describe the same person, if less well."""
    from castlist.video.describe import open_describer
    from castlist.video.detect import open_detector
    from castlist.video.external_tracks import LANDMARKS
    from castlist.video.frames import open_video

    detector, describer = open_detector(), open_describer()
    for name in ("guido", "katherine"):
        with open_video(portraits / f"{name}.mp4") as video:
            image = next(video.frames()).image()
        faces = detector.detect(image)
        box = faces.box[0]
        crops = [describer.crop(image, box, points)
                 for points in (faces.landmarks[0], box[:2] + LANDMARKS * box[2:])]  # fmt: skip
        a, b = describer.describe([cv2.resize(c, (112, 112)) for c in crops])
        assert float(a @ b) > 0.6
