from __future__ import annotations

import numpy as np
import pytest

from castlist.io.pictures import Cover, frame_of, picture_counts, pictures_of, read_covers
from castlist.io.untrusted import load_arrays
from castlist.video.checkpoint import Checkpoint
from castlist.video.pictures import Picture, as_jpeg, frame_view
from castlist.video.sampling import ResumePoint
from castlist.video.shot_tracking import DescribedTrack, TrackedShot
from castlist.video.shots import SIGNATURE_LENGTH

RNG = np.random.default_rng(0)


def shown(k: int, shot: int) -> Picture:
    """Make a picture: the first is the best."""
    image = np.full((20, 20, 3), 60 * k, np.uint8)
    cover = Cover(0.9 - k / 10 + shot / 100, shot + 0.2, (0.25, 0.5, 0.125, 0.25))
    return Picture(as_jpeg(image), frame_view(np.zeros((90, 160, 3), np.uint8)), cover)


def seen(*cameras: int) -> np.ndarray:
    """Make signatures of pictures: two of one camera differ a little."""
    scenes = [np.random.default_rng(k).normal(size=SIGNATURE_LENGTH) for k in cameras]
    return (40 * np.array(scenes) + RNG.normal(size=(2, SIGNATURE_LENGTH))).astype(np.float16)


def track(shot: int, n: int, described: list[int]) -> DescribedTrack:
    return DescribedTrack(
        shot=shot,
        end=shot + n / 5,
        number=np.arange(n),
        time=np.arange(n) / 5 + shot,
        box=RNG.normal(size=(n, 4)).astype(np.float32),
        score=np.ones(n, np.float32),
        described=np.array(described),
        features=RNG.normal(size=(len(described), 3)).astype(np.float32),
        pictures=[shown(k, shot) for k in range(len(described))],
        ends=seen(shot % 2, shot),
    )


SHOTS = [
    TrackedShot([track(0, 4, [1, 3]), track(0, 3, [0])], ResumePoint(1.0, 25, 1), 1.0, 5),
    TrackedShot([], ResumePoint(2.0, 50, 2), 2.0, 5),
    TrackedShot([track(2, 5, [4])], None, 3.0, 4),
]


def test_parts_taken_up_again_are_as_if_never_left(tmp_path):
    whole = Checkpoint(tmp_path / "one")
    whole.add(SHOTS)
    first = Checkpoint.resume(tmp_path / "two")
    assert first.resume_point == ResumePoint()
    first.add(SHOTS[:2])
    again = Checkpoint.resume(tmp_path / "two")
    assert (again.resume_point, again.tracks, again.shots, again.n_frames) == (
        ResumePoint(2.0, 50, 2),
        2,
        2,
        10,
    )
    again.add(SHOTS[2:])
    assert again.resume_point is None
    for parts in (whole, again, Checkpoint.resume(tmp_path / "two")):
        tracks = parts.join("film", "SFace")
        assert tracks.ids.tolist() == ["00001", "00002", "00003"]
        assert tracks.shot.tolist() == [0, 0, 2]
        assert tracks.end.tolist() == [0.8, 0.6, 3.0]
        assert tracks.setup.tolist() == [0, -1, -1, 0, 0, -1, 0, 0, -1, -1, -1, 1]
        assert tracks.face_counts.tolist() == [4, 3, 5]
        assert np.flatnonzero(tracks.features.described).tolist() == [1, 3, 4, 11]
        np.testing.assert_array_equal(
            tracks.described().features,
            np.concatenate([t.features for s in SHOTS for t in s.tracks]),
        )
    again.publish(tmp_path / "faces")
    faces = tmp_path / "faces"
    assert len(pictures_of(faces, "00001")) == 2
    assert picture_counts(faces) == {"00001": 2, "00002": 1, "00003": 1}
    assert all(frame_of(faces, name).is_file() for name in ("00001", "00002", "00003"))
    box = (0.25, 0.5, 0.125, 0.25)
    assert read_covers(faces) == {
        "00001": Cover(0.9, 0.2, box, (0.2, 0.2)), "00002": Cover(0.9, 0.2, box, (0.2,)),
        "00003": Cover(0.92, 2.2, box, (2.2,)),
    }  # fmt: skip
    again.clear()
    assert not (tmp_path / "two").exists()


def test_pictures_of_an_earlier_scan_stay_until_publish(tmp_path):
    faces = tmp_path / "faces"
    faces.mkdir()
    (faces / "00009_0.jpg").write_bytes(b"an earlier one")
    parts = Checkpoint(tmp_path / "p")
    parts.add(SHOTS[:2])
    (parts.faces / ".00001_2.jpg.part").write_bytes(b"of a process that was killed")
    assert [path.name for path in faces.iterdir()] == ["00009_0.jpg"]
    parts.add(SHOTS[2:])
    parts.publish(faces)
    names = [
        "00001_0.jpg", "00001_1.jpg", "00001_frame.jpg", "00002_0.jpg", "00002_frame.jpg",
        "00003_0.jpg", "00003_frame.jpg", "covers.json",
    ]  # fmt: skip
    assert sorted(path.name for path in faces.iterdir()) == names
    parts.publish(faces)  # by the next run, of one that was killed right after it
    assert sorted(path.name for path in faces.iterdir()) == names


def test_a_checkpoint_without_pictures_is_discarded(tmp_path):
    parts = Checkpoint(tmp_path / "p")
    parts.add(SHOTS[:1])
    parts.publish(tmp_path / "faces")
    again = Checkpoint.resume(tmp_path / "p")
    assert (again.resume_point, again.tracks) == (ResumePoint(), 0)
    assert not list((tmp_path / "p").glob("*.npz"))


def test_a_half_written_part_and_what_follows_are_done_again(tmp_path):
    parts = Checkpoint(tmp_path / "p")
    for shot in SHOTS:
        parts.add([shot])
    files = sorted((tmp_path / "p").glob("*.npz"))
    files[1].write_bytes(files[1].read_bytes()[:100])
    again = Checkpoint.resume(tmp_path / "p")
    assert (again.resume_point, again.tracks) == (ResumePoint(1.0, 25, 1), 2)
    assert sorted((tmp_path / "p").glob("*.npz")) == files[:1]


def test_no_track_at_all(tmp_path):
    parts = Checkpoint(tmp_path / "p")
    parts.add([TrackedShot([], None, 3.0, 15)])
    assert len(parts.join("film", "SFace")) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("track", np.zeros(3)), ("track", np.array(7)), ("number", np.zeros((7, 2), int)),
        ("box", np.zeros((7, 3), np.float32)), ("features", np.full((3, 3), np.nan, np.float32)),
        ("features", np.zeros((9, 3), np.float32)), ("covers", np.zeros((3, 6))),
        ("covers", np.zeros((2, 5))), ("described", np.ones(7)),
        ("ends", np.zeros((3, 2, 866), np.float16)),
        ("ends", np.full((2, 2, 866), np.nan, np.float16)), ("about", np.array("[" * 100_000)),
        ("about", np.array("{}")),
        ("about", np.array('{"tracks": "x"}')),
    ],
)  # fmt: skip
def test_a_part_that_does_not_fit_is_done_again(tmp_path, name, value):
    parts = Checkpoint(tmp_path / "p")
    parts.add(SHOTS[:1])
    path = tmp_path / "p" / "000000.npz"
    np.savez(path, **{**load_arrays(path), name: value})
    again = Checkpoint.resume(tmp_path / "p")
    assert (again.resume_point, again.tracks) == (ResumePoint(), 0)
    assert not path.exists()
