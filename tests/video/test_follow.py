from __future__ import annotations

import cv2
import numpy as np
import pytest

from castlist.video.detect import Faces
from castlist.video.face_selection import Gallery
from castlist.video.follow import LONGEST_GAP, Follower, Track, _clear, surroundings

SAME, OTHER = np.eye(2, dtype=np.float32)  # what is around a face
ANN, BOB = np.array([1, 0, 0], np.float32), np.array([0, 1, 0], np.float32)


class Stage:
    """Follows faces whose people are known: (who, x) a frame, five frames a second."""

    def __init__(self):
        self.who: dict[int, list] = {}
        self.asked = 0
        last = lambda track: self.who[id(track)][-1]  # noqa: E731
        self.follower = Follower(last, last)
        self.time = 0.0

    def look(self, *people, size=60, score=0.95, step=0.2, around={}):  # noqa: B006
        box = np.array([[x, 100, size, size] for _, x in people], np.float32).reshape(-1, 4)
        n = len(people)
        faces = Faces(box, np.zeros((n, 5, 2), np.float32), np.full(n, score, np.float32))

        def describe(some):
            self.asked += len(some)
            return np.array([people[face][0] for face in some])

        number = round(25 * self.time)
        around = np.array([around.get(k, SAME) for k in range(n)], np.float32).reshape(-1, 2)
        new = lambda: Gallery(0.2, 5)  # noqa: E731
        tracks = self.follower.add(number, self.time, faces, around, describe, new)
        for track, (who, _) in zip(tracks, people, strict=True):
            self.who.setdefault(id(track), []).append(who)
        self.time += step

    def tracks(self):
        """Return the person and the number of faces of each track."""
        found = self.follower.finish()
        mixed = [t for t in found if len({tuple(w) for w in self.who[id(t)]}) > 1]
        assert not mixed, "a track with two people"
        return [(self.who[id(t)][0].tolist(), len(t)) for t in found]


def test_two_people_apart_are_two_tracks_without_describing():
    stage = Stage()
    for i in range(10):
        stage.look((ANN, 100 + 3 * i), (BOB, 400 - 3 * i))
    assert stage.tracks() == [(ANN.tolist(), 10), (BOB.tolist(), 10)]
    assert stage.asked == 0


def test_in_a_row_of_faces_neighbours_are_not_described():
    stage = Stage()
    people = np.eye(12, dtype=np.float32)
    for i in range(6):
        stage.look(*((one, 65 * k + 2 * i) for k, one in enumerate(people)))
    assert [n for _, n in stage.tracks()] == [6] * 12
    assert stage.asked == 0


@pytest.mark.parametrize("step", [12, 25, 40])
def test_two_people_who_cross_are_not_swapped(step):
    stage = Stage()
    for i in range(20):
        a, b = 100 + step * i, 100 + step * 19 - step * i
        people = [(ANN, a), (BOB, b)]
        stage.look(*(people if i % 2 else people[::-1]))
    found = stage.tracks()
    assert sum(n for _, n in found) == 40
    assert len(found) <= 4


def test_one_hides_the_other_while_they_cross():
    stage = Stage()
    for i in range(16):
        a, b = 100 + 20 * i, 400 - 20 * i
        if abs(a - b) < 50:
            stage.look((ANN, a))
        else:
            stage.look((ANN, a), (BOB, b))
    found = stage.tracks()
    assert found[0] == (ANN.tolist(), 16)
    assert [name for name, _ in found[1:]] == [BOB.tolist()] * (len(found) - 1)


def test_a_short_gap_is_bridged_and_a_long_one_is_not():
    stage = Stage()
    for i in range(5):
        stage.look((ANN, 100 + i))
    for _ in range(3):
        stage.look()
    for i in range(5):
        stage.look((ANN, 110 + i))
    assert stage.tracks() == [(ANN.tolist(), 10)]
    stage = Stage()
    stage.look((ANN, 100))
    stage.look((ANN, 100), step=LONGEST_GAP + 0.1)
    stage.look((ANN, 100))
    stage.look((ANN, 100))
    assert [n for _, n in stage.tracks()] == [2, 2]


def test_another_person_at_the_same_place_after_a_gap_is_another_track():
    stage = Stage()
    for _ in range(4):
        stage.look((ANN, 100))
    stage.look(step=0.6)
    for _ in range(4):
        stage.look((BOB, 100))
    assert stage.tracks() == [(ANN.tolist(), 4), (BOB.tolist(), 4)]


def test_a_face_of_one_frame_is_false_and_one_of_half_a_second_is_not():
    stage = Stage()
    for i in range(12):
        people = [(ANN, 100)]
        people += [(BOB, 400)] * (i in (3, 4, 5)) + [(BOB, 250)] * (i == 9)
        stage.look(*people)
    assert stage.tracks() == [(ANN.tolist(), 12), (BOB.tolist(), 3)]


def test_weak_detections_alone_are_no_track():
    stage = Stage()
    for _ in range(8):
        stage.look((ANN, 100), score=0.65)
    assert stage.tracks() == []


def test_a_shot_of_one_picture_believes_only_a_very_sure_face():
    for score, believed in ((0.85, 0), (0.95, 1)):
        stage = Stage()
        stage.look((ANN, 100), score=score)
        assert len(stage.tracks()) == believed


def test_unconfirmed_tracks_of_a_crowd_are_dropped():
    stage = Stage()
    for i in range(20):
        stage.look(*((ANN, 100 * k + 45 * (i % 2)) for k in range(8)), score=0.65, step=0.6)
    assert len(stage.follower.ended) == 0
    assert len(stage.follower.live) < 40


def test_clear_pairs_by_hand():
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (1, 4), (5, 1), (4, 6)):
        overlap = rng.random(shape)
        for t, f in np.ndindex(*shape):
            others = [*np.delete(overlap[t], f), *np.delete(overlap[:, f], t), 0.0]
            assert _clear(overlap)[t, f] == (overlap[t, f] > 0.3 + max(others))


def test_a_jump_into_other_surroundings_ends_a_track_unless_the_face_is_very_much_alike():
    like = np.array([0.6, 0.8, 0], np.float32)  # a cosine of 0.6 to Ann: much alike, not very
    for who, n in ((like, 2), (ANN, 1)):
        stage = Stage()
        for _ in range(4):
            stage.look((ANN, 100))
        for _ in range(4):
            stage.look((who, 140), around={0: OTHER})
        assert len(stage.follower.finish()) == n


def test_in_the_same_place_but_other_surroundings_the_describer_is_asked():
    stage = Stage()
    for _ in range(4):
        stage.look((ANN, 100))
    assert stage.asked == 0
    for _ in range(4):
        stage.look((BOB, 100), around={0: OTHER})
    assert stage.asked > 0
    assert stage.tracks() == [(ANN.tolist(), 4), (BOB.tolist(), 4)]


def test_the_same_surroundings_need_no_describer_when_a_face_moves_fast():
    stage = Stage()
    for i in range(5):
        stage.look((ANN, 100 + 45 * (i % 2)))
    assert stage.tracks() == [(ANN.tolist(), 5)]
    assert stage.asked == 0


def test_evidence_adds_up():
    for score, looks, believed in ((0.85, 2, 1), (0.75, 2, 0), (0.7, 6, 1), (0.63, 20, 0)):
        stage = Stage()
        for _ in range(looks):
            stage.look((ANN, 100), score=score)
        assert len(stage.tracks()) == believed, (score, looks)


def test_surroundings_of_a_face_that_moved_are_the_same_and_anothers_are_not():
    rng = np.random.default_rng(0)
    image = np.full((120, 200, 3), 90, np.uint8)
    ann, bob = rng.integers(0, 255, (2, 40, 40, 3)).astype(np.uint8).repeat(1, axis=1)
    ann, bob = (
        cv2.resize(one[::8, ::8], (40, 40), interpolation=cv2.INTER_CUBIC) for one in (ann, bob)
    )
    image[20:60, 20:60], image[60:100, 120:160] = ann, bob
    moved = np.full((120, 200, 3), 90, np.uint8)
    moved[30:70, 50:90] = ann
    box = np.array([[30, 30, 20, 20], [130, 70, 20, 20]], np.float32)
    here = surroundings(image, box)
    there = surroundings(moved, np.array([[60, 40, 20, 20]], np.float32))
    assert here.shape == (2, 400)
    assert (here @ there.T)[0, 0] > 0.9 > 0.4 > (here @ there.T)[1, 0]
    assert surroundings(image, np.empty((0, 4))).shape == (0, 400)


def test_at_a_low_sample_rate_a_face_that_was_not_missed_needs_no_describer():
    stage = Stage()
    for _ in range(4):
        stage.look((ANN, 100), step=0.4)
    assert stage.tracks() == [(ANN.tolist(), 4)]
    assert stage.asked == 0


def followed(lefts, every=0.2):
    """Return a track of boxes of 60 pixels at these left edges."""
    track = Track(Gallery(0.2, 5))
    for k, left in enumerate(lefts):
        track.add(5 * k, every * k, np.array([left, 100, 60, 60], np.float32), 0.9)
    return track


def test_one_box_out_of_place_moves_the_expectation_by_half_of_that_only():
    """A detector is sometimes wrong by some pixels: one such box does not send a track away."""
    still = followed([100] * 6 + [120])
    assert still.expected(1.2 + 0.2)[0] == pytest.approx(120 + 20 / 2)
    still = followed([100] * 6 + [120] + [100])
    assert still.expected(1.4 + 0.2)[0] == pytest.approx(100 - 20 / 2 + 20 / 4)


def test_a_steady_motion_is_expected_to_go_on_for_half_a_second():
    moving = followed([100 + 12 * k for k in range(12)])  # 60 pixels a second
    x, y, w, h = moving.expected(2.2 + 0.2)
    assert (y, w, h) == (100, 60, 60)
    assert x == pytest.approx(232 + 12, abs=0.1)
    assert moving.expected(2.2 + 0.5)[0] == pytest.approx(232 + 30, abs=0.1)
    assert moving.expected(2.2 + 2.0)[0] == moving.expected(2.2 + 0.5)[0]


@pytest.mark.parametrize(
    ("step", "missed", "n"),
    [
        (0.4, 0, 1), (0.45, 0, 1),  # at a low sample rate no frame lies in the gap
        (0.55, 0, 2), (0.8, 0, 2),  # longer than half a second
        (0.1, 1, 1),  # a short gap
        (0.2, 1, 2), (0.1, 3, 2),  # the face was gone for more than 0.3 seconds
    ],
)  # fmt: skip
def test_after_a_gap_a_face_in_its_place_must_be_much_alike(step, missed, n):
    like = np.array([0.4, 0.9165, 0], np.float32)  # a cosine of 0.4 to Ann: alike, and not much
    stage = Stage()
    for _ in range(4):
        stage.look((ANN, 100), step=step)
    for _ in range(missed):
        stage.look(step=step)
    for _ in range(4):
        stage.look((like, 100), step=step)
    assert len(stage.follower.finish()) == n
