from __future__ import annotations

import os
import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest

from castlist import InputError
from castlist.research.degrade import WIDTHS, degrade, draw_look
from castlist.research.picture_tracks import describe_folder, picture_tracks
from castlist.video.describe import open_describer
from castlist.video.detect import open_detector
from castlist.video.frames import open_video


def grey(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.full((60, 50, 3), 90, np.uint8))


def test_both_layouts_are_found_in_order(tmp_path):
    for name in ("ann/1.jpg", "ann/2.png", "bob/one/b.jpg", "bob/one/a.jpg", "bob/two/a.JPG"):
        grey(tmp_path / name)
    (tmp_path / "bob" / "one" / "notes.txt").write_text("no picture")
    (tmp_path / "empty").mkdir()
    found = [(t.person, t.name, len(t.pictures)) for t in picture_tracks(tmp_path)]
    assert found == [
        ("ann", "ann/1.jpg", 1), ("ann", "ann/2.png", 1),
        ("bob", "bob/one", 2), ("bob", "bob/two", 1),
    ]  # fmt: skip
    assert [t.person for t in picture_tracks(tmp_path, {"ann"})] == ["ann", "ann"]
    with pytest.raises(InputError, match="no pictures as"):
        picture_tracks(tmp_path, {"nobody"})
    with pytest.raises(InputError, match="no such folder"):
        picture_tracks(tmp_path / "none")


def test_names_that_are_not_text_stay_different(tmp_path):
    picture = tmp_path / "a.jpg"
    grey(picture)
    for name in (b"\xfe", b"\xff"):
        folder = os.path.join(os.fsencode(tmp_path), b"ann", name)
        try:
            os.makedirs(folder)
        except OSError:
            pytest.skip("names are text here")
        shutil.copy(picture, os.path.join(folder, b"a.jpg"))
    assert [t.name for t in picture_tracks(tmp_path)] == [r"ann/\xfe", r"ann/\xff"]


@pytest.fixture(scope="module")
def album(portraits, tmp_path_factory):
    """Two people, one with a track of three frames and one with single pictures."""
    folder = tmp_path_factory.mktemp("album")
    for clip, names in (("christophe", ["a/1", "a/2", "a/3"]), ("filippo", ["1", "2"])):
        with open_video(portraits / f"{clip}.mp4") as video:
            frames = video.frames()
            for name in names:
                for _ in range(15):
                    image = next(frames).image()
                (folder / clip / name).parent.mkdir(parents=True, exist_ok=True)
                cv2.imwrite(str(folder / clip / f"{name}.jpg"), image)
    grey(folder / "filippo" / "empty.jpg")
    return folder


def test_people_are_described_and_pictures_without_a_face_are_named(album):
    tracks, faceless = describe_folder(album, open_detector, open_describer, degraded=2, seed=1)
    assert tracks.identity.tolist() == ["christophe", "filippo", "filippo"]
    assert tracks.face_counts.tolist() == [9, 3, 3]
    assert [path.name for path in faceless] == ["empty.jpg"]
    assert (tracks.describer, tracks.features.dim) == ("SFace-TV", 128)
    means = tracks.mean_features()
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    alike = means @ means.T
    assert alike[1, 2] > 0.6 > 0.3 > alike[0, 1]
    shown, _ = describe_folder(
        album, open_detector, open_describer, television=4, people={"filippo"}
    )
    assert shown.face_counts.tolist() == [4, 4]
    alike = np.asarray(shown.features)[:4]
    assert (alike @ alike.T).min() > 0.6  # one look, more or less blurred
    again, _ = describe_folder(album, open_detector, open_describer, degraded=2, seed=1)
    np.testing.assert_array_equal(again.features, tracks.features)


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "1.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"1\.jpg: cannot be read as a picture"):
        describe_folder(tmp_path, open_detector, open_describer)


def test_a_degraded_face_is_small_dark_and_blurred_and_its_landmarks_near():
    rng = np.random.default_rng(0)
    image = cv2.resize(rng.integers(0, 255, (80, 80, 3), np.uint8), (240, 240))
    box = np.array([60, 60, 120, 120], np.float32)
    landmarks = np.array([[90, 100], [150, 100], [120, 130], [95, 150], [145, 150]], np.float32)
    widths, lights = [], []
    for seed in range(200):
        chance = np.random.default_rng(seed)
        worse, small, moved = degrade(image, box, landmarks, draw_look(chance), chance)
        scale = small[2] / box[2]
        assert np.abs(moved - landmarks * scale).max() < 0.1 * small[2]
        assert worse.shape[1] == round(240 * scale)
        widths.append(small[2])
        lights.append(worse.mean() / image.mean())
    assert WIDTHS[0] - 1 <= min(widths) < 35
    assert 100 < max(widths) <= WIDTHS[1] + 1
    assert min(lights) < 0.5 < 1.0 < max(lights)
    large = replace(draw_look(rng), width=500)
    assert degrade(image, box, landmarks, large, rng)[1][2] == pytest.approx(120)
