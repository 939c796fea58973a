from __future__ import annotations

import base64
import dataclasses
import json
import shutil
from contextlib import suppress

import numpy as np
import pytest

import castlist.cast.series
from castlist import CastlistError, InputError, TrackSet
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.episodes import BALLS
from castlist.cast.events import Edit
from castlist.cast.folder import EPISODES, FACES, TRACKS, read_scanned
from castlist.cast.matching import Balls
from castlist.cast.questions import questions
from castlist.cast.recluster import accept, propose
from castlist.cast.series import AlreadyExistsError, add, balls_of, join, remove
from castlist.io.lock import locked
from datasets.synthetic_casts import episode, write_folder


@pytest.fixture
def three(tmp_path):
    return [episode(tmp_path, f"e{k}", people, seed=k) for k, people in ((1, 4), (2, 3), (3, 5))]


def people(cast):
    """Return who is in each character."""
    return {
        one.number: set(cast.tracks.identity[one.tracks].tolist()) for one in cast.cast.characters
    }


def by_track(cast):
    return {
        str(track): int(number)
        for track, number in zip(cast.tracks.ids, cast.state.owner, strict=True)
    }


def test_characters_across_videos(three, tmp_path):
    assert join(three, tmp_path / "season.cast") == []
    cast = Corrections(tmp_path / "season.cast")
    assert sorted(map(sorted, people(cast).values())) == [[f"p{k}"] for k in range(5)]
    assert cast.tracks.videos == ("e1.mp4", "e2.mp4", "e3.mp4")
    assert cast.cast.duration == 120
    assert set(cast.tracks.ids[:2].tolist()) == {"e1:0000", "e1:0001"}
    # on one timeline, one video after another
    first = cast.cast.spans[:, 0]
    for k in range(3):
        own = first[cast.tracks.video == k]
        assert (own >= 40 * k).all()
        assert (own < 40 * k + 40).all()
    assert cast.pictures["e2:0000"] > 0
    assert cast.scanned.pictures("e2:0000")[0].parent == (
        tmp_path / "season.cast" / EPISODES / "e2" / FACES
    )


def test_corrections_are_carried_over(three, tmp_path):
    one, two = Corrections(three[0], "ann"), Corrections(three[1], "bob")
    one.name(1, "Anna")
    one.move(["0001"], to=1, waive=True)  # wrong, but said
    one.not_face(["0002"])
    two.name(2, "Bo")
    two.background([2])
    for cast in (one, two):
        cast.close()
    join(three, tmp_path / "season.cast")
    cast = Corrections(tmp_path / "season.cast")
    assert {c.name for c in cast.cast.characters} - {""} == {"Anna", "Bo"}
    assert "e1:0001" in cast.tracks.ids[cast.character("Anna").tracks].tolist()
    assert cast.state.not_face[cast.rows(["e1:0002"])].all()
    assert cast.tracks.video[cast.character("Anna").tracks].max() == 2  # of all three videos
    assert [event.kind for event, _ in cast.history] == ["join"]
    with pytest.raises(InputError, match="nothing to undo"):
        cast.undo()
    # What was pinned in a video is pinned in the joined cast, and nothing else is.
    pinned = {str(name) for name in cast.tracks.ids[cast.state.pin > 0]}
    here = {f"e1:{name}" for name in one.tracks.ids[one.state.pin > 0].tolist()}
    assert pinned == here | {f"e2:{name}" for name in two.tracks.ids[two.state.pin > 0].tolist()}
    assert cast.character("Bo").background
    assert not cast.character("Anna").background
    cast.name("Anna", "Hanna")
    cast.undo()
    assert cast.character("Anna")


def test_names_that_contradict_faces_are_reported(three, tmp_path):
    one, two = Corrections(three[0]), Corrections(three[1])
    who = {next(iter(v)): k for k, v in people(one).items()}
    also = {next(iter(v)): k for k, v in people(two).items()}
    one.name(who["p0"], "Anna")
    two.name(also["p0"], "Bo")  # looks like Anna
    one.name(who["p1"], "Cleo")
    two.name(also["p2"], "Cleo")  # does not look like Cleo
    for cast in (one, two):
        cast.close()
    found = join(three, tmp_path / "season.cast")
    names = {tuple(sorted(conflict.names)) for conflict in found}
    assert names == {("Cleo", "Cleo"), ("Anna", "Bo")}
    assert any("look alike" in str(conflict) for conflict in found)
    cast = Corrections(tmp_path / "season.cast")
    assert cast.character("Anna").number != cast.character("Bo").number
    twice = [c.number for c in cast.cast.characters if c.name == "Cleo"]
    assert len(twice) == 2
    asked = questions(cast.points, cast.facts, cast.state)
    compared = [pair for question in asked for pair in question.pairs]
    whole = [pair for pair in compared if not pair.inside]
    pairs = {frozenset((p.other.character, o.character)) for p in whole for o in p.ones}
    assert frozenset(twice) in pairs
    anna, bo = cast.character("Anna").number, cast.character("Bo").number
    assert frozenset((anna, bo)) not in pairs  # two names are two people


def test_two_names_of_one_video_are_no_conflict(three, tmp_path):
    one = Corrections(three[0])
    first = str(one.tracks.ids[one.character(1).tracks[0]])
    one.move([first])  # taken for another person, who looks the same
    one.name(one.cast.characters[-1].number, "Bo")
    one.name(1, "Anna")
    one.close()
    assert join(three, tmp_path / "season.cast") == []


def test_one_more_video_changes_nobody(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    cast = Corrections(season)
    cast.name(1, "Anna")
    moved = str(cast.tracks.ids[cast.character(2).tracks[0]])
    cast.move([moved])
    before, named = by_track(cast), cast.character("Anna").number
    cast.close()
    conflicts, new = add(season, three[2])
    assert (conflicts, new) == ([], 1)  # p4; p3 was in the first
    cast = Corrections(season)
    after = by_track(cast)
    assert {track: after[track] for track in before} == before
    assert cast.character("Anna").number == named
    assert cast.lost == []
    assert cast.tracks.video[cast.character("Anna").tracks].max() == 2
    # the same person is in the same character, but for the track that was taken out
    who = sorted(map(sorted, people(cast).values()))
    assert who == sorted([*([f"p{k}"] for k in range(5)), *[sorted(people(cast)[before[moved]])]])
    cast.move([str(cast.tracks.ids[cast.character(1).tracks[0]])])  # a number that is free
    assert len(people(cast)) == 7


def test_one_more_video_after_an_accepted_clustering(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    cast = Corrections(season)
    cast.merge([1, 2], waive=True)
    cast.move([str(cast.tracks.ids[cast.character(3).tracks[0]])])
    accept(cast, propose(cast))
    before = by_track(cast)
    cast.close()
    add(season, three[2])
    cast = Corrections(season)
    after = by_track(cast)
    assert {track: after[track] for track in before} == before
    assert cast.lost == []


def test_an_undone_clustering_is_not_used(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    cast = Corrections(season)
    cast.merge([1, 2], waive=True)
    accept(cast, propose(cast))
    cast.undo()
    cast.undo()
    before = by_track(cast)
    cast.close()
    add(season, three[2])
    cast = Corrections(season)
    assert {track: by_track(cast)[track] for track in before} == before


def listed(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


class Killed(BaseException):
    """What ends a process between two steps."""


@pytest.mark.parametrize(
    "step", ["write_episode", "write_labels", "inherited_edits", "write_about", "Balls.with_more"]
)
@pytest.mark.parametrize("done", [False, True])
def test_killed_while_one_more_video_is_added(three, tmp_path, monkeypatch, step, done):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    cast = Corrections(season)
    cast.merge([1, 2], waive=True)
    accept(cast, propose(cast))
    before = by_track(cast)
    cast.close()
    new = Corrections(three[2])
    who = {next(iter(v)): k for k, v in people(new).items()}
    new.name(who["p4"], "Eve")
    new.background([who["p4"]])
    new.close()
    shutil.copytree(season, tmp_path / "undisturbed.cast")
    add(tmp_path / "undisturbed.cast", three[2])
    owner = castlist.cast.series if "." not in step else Balls
    name = step.rpartition(".")[2]
    real = getattr(owner, name)

    def dies(*given, **named):
        if done:
            real(*given, **named)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dies)
        with pytest.raises(Killed):
            add(season, three[2])
    cast = Corrections(season)
    assert {track: by_track(cast)[track] for track in before} == before
    cast.close()
    (season / f".{BALLS}.part").write_bytes(b"half")
    with suppress(AlreadyExistsError):
        add(season, three[2])
    cast, whole = Corrections(season), Corrections(tmp_path / "undisturbed.cast")
    assert by_track(cast) == by_track(whole)
    assert cast.state.names == whole.state.names
    assert cast.state.background == whole.state.background
    found, right = balls_of(season), balls_of(tmp_path / "undisturbed.cast")
    assert found.numbers.tolist() == right.numbers.tolist()
    assert found.names.tolist() == right.names.tolist()
    assert found.sums == pytest.approx(right.sums)
    assert Balls.load(season / BALLS).known == right.known
    assert listed(season) == listed(tmp_path / "undisturbed.cast")


def test_a_video_is_added_even_if_the_balls_cannot_be_written(three, tmp_path):
    """They are computed again, so that nothing is half done."""
    season = tmp_path / "season.cast"
    join(three[:2], season)
    (season / BALLS).unlink()
    (season / BALLS).mkdir()
    add(season, three[2])
    with pytest.raises(AlreadyExistsError):
        add(season, three[2])
    (season / BALLS).rmdir()
    with Corrections(season) as cast:
        assert cast.tracks.videos == ("e1.mp4", "e2.mp4", "e3.mp4")
        assert balls_of(season).known == (3, cast.last)


def test_nothing_is_left_of_a_join_whose_files_are_removed(three, tmp_path, monkeypatch):
    real = Balls.save

    def removed(balls, path):
        shutil.rmtree(path.parent)
        real(balls, path)

    with monkeypatch.context() as patch:
        patch.setattr(Balls, "save", removed)
        with pytest.raises(CastlistError, match="were removed while it was written"):
            join(three, tmp_path / "season.cast")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e1.cast", "e2.cast", "e3.cast"]
    join(three, tmp_path / "season.cast")
    assert balls_of(tmp_path / "season.cast").known == (3, 1)


def test_two_at_a_time(three, tmp_path):
    season = tmp_path / "season.cast"
    with (
        locked(tmp_path / ".season.cast.partial"),
        pytest.raises(InputError, match="is using this folder"),
    ):
        join(three[:2], season)
    join(three[:2], season)
    with locked(season), pytest.raises(InputError, match="is using this folder"):
        add(season, three[2])
    assert {path.name for path in tmp_path.iterdir()} == {
        "e1.cast", "e2.cast", "e3.cast", "season.cast"
    }  # fmt: skip


def test_a_folder_cannot_point_elsewhere(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    run = json.loads((season / RUN).read_text())
    run["videos"][1]["episode"] = "../../e1.cast"
    (season / RUN).write_text(json.dumps(run))
    for use in (Corrections, lambda folder: add(folder, three[2])):
        with pytest.raises(InputError, match="not a file name"):
            use(season)


def test_the_balls_follow_corrections(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    cast = Corrections(season)
    first = balls_of(season)
    assert first.numbers.tolist() == sorted(people(cast))
    cast.merge([1, 2], waive=True)
    assert balls_of(season).numbers.tolist() == sorted(people(cast))
    cast.close()
    (season / BALLS).write_bytes(b"x")
    assert balls_of(season).numbers.tolist() == sorted(people(cast))


def test_names_of_one_more_video(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    cast = Corrections(three[2])
    who = {next(iter(v)): k for k, v in people(cast).items()}
    cast.name(who["p4"], "Eve")
    cast.name(who["p0"], "Anna")
    cast.close()
    assert add(season, three[2])[0] == []
    joined = Corrections(season)
    assert people(joined)[joined.character("Eve").number] == {"p4"}
    assert people(joined)[joined.character("Anna").number] == {"p0"}
    joined.close()
    with pytest.raises(InputError, match="already in "):
        add(season, three[2])


def test_two_files_of_one_name(tmp_path):
    one = episode(tmp_path / "a", "film", seed=1)
    two = episode(tmp_path / "b", "film", seed=2)
    join([one, two], tmp_path / "both.cast")
    cast = Corrections(tmp_path / "both.cast")
    assert cast.tracks.videos == ("film.mp4", "film.mp4 (film-2)")
    assert sorted(map(sorted, people(cast).values())) == [[f"p{k}"] for k in range(4)]


def test_clustering_again_keeps_characters_whole(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three, season)
    cast = Corrections(season)
    assert propose(cast).changes == ()
    cast.move([str(name) for name in cast.tracks.ids[cast.tracks.video == 1][:1]])
    assert all(len(change.tracks) == 1 for change in propose(cast).changes)


def test_casts_that_cannot_be_joined(three, tmp_path):
    season = tmp_path / "season.cast"
    with pytest.raises(InputError, match="two casts"):
        join(three[:1], season)
    with pytest.raises(InputError, match="two casts"):
        join([three[0], three[0]], season)
    join(three[:2], season)
    with pytest.raises(InputError, match="exists already"):
        join(three, season)
    with pytest.raises(InputError, match="joined cast"):
        join([season, three[2]], tmp_path / "more.cast")
    with pytest.raises(InputError, match="one video"):
        add(three[0], three[1])
    with pytest.raises(InputError, match="joined cast"):
        add(season, season)
    with pytest.raises(InputError, match="not a cast"):
        join([three[0], tmp_path / "nothing"], tmp_path / "more.cast")
    assert not (tmp_path / "more.cast").exists()


def test_a_video_with_no_faces(three, tmp_path):
    empty = episode(tmp_path, "empty", 1)
    tracks = TrackSet.from_faces([], video="empty.mp4", describer="SFace")
    write_folder(empty, tracks, np.empty(0, np.int64))
    run = json.loads((three[0] / RUN).read_text())
    run["video"]["name"] = "empty.mp4"
    (empty / RUN).write_text(json.dumps(run))
    join([empty, *three], tmp_path / "season.cast")
    cast = Corrections(tmp_path / "season.cast")
    assert len(cast.tracks.videos) == 4
    assert (cast.tracks.video > 0).all()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("run.json", b"[" * 100_000),
        ("cast.json", b"[]"),
        ("run.json", b'{"videos": [{"episode": "../e1", "title": "x"}]}'),
        ("episodes/e1/characters.npy", b"no array"),
    ],
)
def test_a_damaged_file_is_an_input_error(three, tmp_path, file, text):
    join(three[:2], tmp_path / "all.cast")
    (tmp_path / "all.cast" / file).write_bytes(text)
    with pytest.raises(InputError, match="damaged or unfinished|not a cast"):
        read_scanned(tmp_path / "all.cast")


@pytest.mark.parametrize(
    ("file", "array"),
    [
        ("characters", np.zeros((2, 2, 2), np.int64)),
        ("characters", np.full(20, 1.5)),
        ("embeddings", np.zeros((20, 3), np.float32)),
        ("embeddings", np.full((20, 128), np.nan, np.float32)),
    ],
)
def test_arrays_that_do_not_fit(three, tmp_path, file, array):
    join(three[:2], tmp_path / "all.cast")
    np.save(tmp_path / "all.cast" / EPISODES / "e1" / f"{file}.npy", array)
    with pytest.raises(InputError, match="damaged or unfinished|do not belong together"):
        read_scanned(tmp_path / "all.cast")


def test_balls_of_other_dimensions_are_refused(tmp_path):
    one, two, three = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3))
    join([one, two], tmp_path / "season.cast")
    balls = Balls.load(tmp_path / "season.cast" / BALLS)
    dataclasses.replace(balls, sums=balls.sums[:, :1]).save(tmp_path / "season.cast" / BALLS)
    with pytest.raises(InputError, match=r"remove balls\.npz"):
        add(tmp_path / "season.cast", three)
    (tmp_path / "season.cast" / BALLS).unlink()
    add(tmp_path / "season.cast", three)


def tracks_of(cast, which):
    return [str(name) for name in cast.tracks.ids[cast.character(which).tracks]]


def test_different_characters_stay_apart_in_a_joined_cast(tmp_path):
    """Two characters that look the same, called different in their video before it is joined."""
    labels = [0 if k < 8 else 1 + k % 4 for k in range(20)]
    folders = [episode(tmp_path, f"e{k}", 1, each=20, pairs=False, seed=k, labels=labels)
               for k in (1, 2)]  # fmt: skip
    one = Corrections(folders[0])
    a, b = (tracks_of(one, one.cast.characters[k].number) for k in (0, 1))
    one.answer(a, different=[b])
    one.close()
    join(folders, tmp_path / "season.cast")
    cast = Corrections(tmp_path / "season.cast")
    mine, theirs = cast.rows([f"e1:{t}" for t in a]), cast.rows([f"e1:{t}" for t in b])

    def apart():
        owner = cast.state.owner
        return not set(owner[mine].tolist()) & set(owner[theirs].tolist())

    assert apart()
    for _ in range(2):
        accept(cast, propose(cast))
        assert apart()


def test_a_video_is_taken_out_and_put_back(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three, season)
    cast = Corrections(season)
    cast.name(1, "Anna")
    before, names = by_track(cast), dict(cast.state.names)
    remove(season, "e2")
    cast.refresh()
    assert cast.tracks.videos == ("e1.mp4", "e3.mp4")
    assert by_track(cast) == {t: n for t, n in before.items() if not t.startswith("e2:")}
    assert (cast.cast.duration, cast.state.names) == (80, names)
    with pytest.raises(InputError, match="there is no video 'e2'; its videos are e1, e3"):
        remove(season, "e2")
    cast.undo()
    assert by_track(cast) == before
    cast.redo()
    assert len(cast.tracks.videos) == 2
    remove(season, "e1.mp4")
    with pytest.raises(InputError, match="its only video"):
        remove(season, "e3")
    with pytest.raises(InputError, match="not a joined cast"):
        remove(three[0], "e1")


def test_corrections_of_a_removed_video_do_not_apply_to_the_one_that_is_left(tmp_path):
    folders = [episode(tmp_path, name, seed=1) for name in ("a", "bb")]  # they look the same
    cast = Corrections(folders[0])
    cast.not_face(["0003"])
    cast.name(1, "Anna")
    cast.close()
    season = tmp_path / "season.cast"
    join(folders, season)
    remove(season, "a")
    cast = Corrections(season)
    assert not cast.state.not_face.any()
    assert not cast.state.pin.any()


def test_a_removed_video_comes_back_with_its_corrections(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three, season)
    cast = Corrections(season)
    cast.name(1, "Anna")
    moved = tracks_of(cast, 2)[-1]
    assert moved.startswith("e3:")
    cast.move([moved], to=3, waive=True)
    remove(season, "e3")
    add(season, three[2])
    cast.refresh()
    assert cast.tracks.videos == ("e1.mp4", "e2.mp4", "e3.mp4")
    again = moved.replace("e3:", "e3-2:")
    assert again in tracks_of(cast, 3)
    assert any(track.startswith("e3-2:") for track in tracks_of(cast, "Anna"))
    assert cast.lost == []


def test_an_added_video_can_be_undone_with_all_it_brought(three, tmp_path):
    season = tmp_path / "season.cast"
    join(three[:2], season)
    new = Corrections(three[2])
    who = {next(iter(v)): k for k, v in people(new).items()}
    new.name(who["p4"], "Eve")
    new.close()
    cast = Corrections(season)
    before = by_track(cast)
    add(season, three[2])
    cast.refresh()
    after, eve = by_track(cast), cast.character("Eve").number
    cast.undo()
    assert (by_track(cast), cast.state.names) == (before, {})
    with pytest.raises(InputError, match="no character 'Eve'"):
        cast.character("Eve")
    cast.redo()
    assert (by_track(cast), cast.character("Eve").number) == (after, eve)
    cast.undo()
    add(season, three[2])
    cast.refresh()
    assert cast.character("Eve").number > eve  # no id is given twice


def test_the_same_video_is_refused_whatever_its_file_is_called(three, tmp_path):
    looks = [[k / 2, base64.b64encode(bytes([10 * k] * 144)).decode()] for k in range(8)]
    known = {"seconds": 40.0, "frames": 1000, "size": 5, "pictures": looks}

    def note(folder, **video):
        run = json.loads((folder / RUN).read_text())
        run["video"] |= {"fingerprint": known, **video}
        (folder / RUN).write_text(json.dumps(run))

    note(three[0])
    note(three[2], changed=99, bytes=7, name="copy.mp4")
    season = tmp_path / "season.cast"
    join(three[:2], season)
    with pytest.raises(
        AlreadyExistsError, match=r"this video is already in .*season.cast: e1\.mp4"
    ):
        add(season, three[2])
    with pytest.raises(AlreadyExistsError):
        join(three, tmp_path / "all.cast")
    remove(season, "e1")
    add(season, three[2])


def test_a_cut_is_carried_over(three, tmp_path):
    one = Corrections(three[0])
    begin, end = one.tracks.spans[one.rows(["0000"])[0]]
    one.cut("0000", (begin + end) / 2)
    one.cut("0000b", (begin + 3 * end) / 4)
    owner = {name: int(n) for name, n in zip(one.tracks.ids, one.state.owner, strict=True)}
    one.close()
    join(three[:2], tmp_path / "season.cast")
    cast = Corrections(tmp_path / "season.cast")
    parts = ["0000a", "0000ba", "0000bb"]
    there = [by_track(cast)[f"e1:{name}"] for name in parts]
    assert len({owner[name] for name in parts}) == len(set(there)) == 3
    assert (cast.state.pin[cast.rows([f"e1:{name}" for name in parts])] > 0).all()


def facts(cast, prefix=""):
    """Return what was said about the tracks with a prefix, keyed by the fields of an `Edit`."""
    ids, state = cast.tracks.ids, cast.state
    own = np.array([name.startswith(prefix) for name in ids.tolist()])

    def called(rows):
        return tuple(name.removeprefix(prefix) for name in ids[rows[own[rows]]].tolist())

    def all_called(groups):
        return sorted(found for group in groups if any(found := tuple(map(called, group))))

    def by_tracks(values):
        return {called(np.flatnonzero(state.owner == n)): value for n, value in values.items()
                if (state.owner[own] == n).any()}  # fmt: skip

    mask = np.flatnonzero
    return {
        "cuts": [name for name in called(mask(own)) if not name.isdigit()],
        "pins": called(mask(state.pin > 0)),
        "names": by_tracks(state.names), "background": by_tracks(state.background),
        "not_face": called(mask(state.not_face)), "face": called(mask(state.face)),
        "checked": called(mask(state.checked)),
        "different": all_called(state.different), "same": all_called(state.same),
        "mixed": all_called((rows,) for rows in state.mixed),
        "waived": all_called((np.array(pair),) for pair in state.waived),
        "not_named": [(name, found) for name, rows in state.not_named if (found := called(rows))],
    }  # fmt: skip


def say_everything(folder):
    """Say something of every kind; return it."""
    with Corrections(folder) as cast:
        four = tracks_of(cast, 4)
        begin, end = cast.tracks.spans[cast.rows(four[-1:])[0]]
        cast.cut(four[-1], (begin + end) / 2)
        cast.name(1, "Anna")
        cast.background([5])  # who is in no other video
        cast.not_named(3, "Bo")
        cast.not_face([tracks_of(cast, 3)[0]])
        cast.not_face([tracks_of(cast, 3)[1]])
        cast.not_face([cast.tracks.ids[cast.state.not_face][1]], False)
        anna, two = tracks_of(cast, 1), tracks_of(cast, 2)
        cast.answer(anna[:1], same=[anna[1:2]], different=[two[:1]], waive=True)
        cast.answer(two[:1], mixed=[two[1:3]])
        cast.move(two[-1:], to=1, waive=True)
        return facts(cast)


@pytest.mark.parametrize("way", ["join", "add"])
def test_everything_that_was_said_of_a_video_is_inherited(tmp_path, way):
    """A field of `Edit` that is forgotten fails here, also a new one."""
    folders = [episode(tmp_path, f"e{k}", people, seed=k) for k, people in ((1, 4), (2, 4), (3, 5))]
    said = say_everything(folders[2])
    assert said.keys() == Edit.model_fields.keys()
    assert all(said.values()), [name for name, fact in said.items() if not fact]
    season = tmp_path / "season.cast"
    if way == "join":
        join([folders[0], folders[2]], season)
    else:
        join(folders[:2], season)
        add(season, folders[2])
    with Corrections(season) as cast:
        body = cast.live[-1].body
        assert cast.live[-1].kind == way
        assert [name for name in Edit.model_fields if not getattr(body, name)] == []
        assert facts(cast, "e3:") == said


# A video that is scanned again meanwhile


@pytest.fixture
def rescanned(monkeypatch):
    """Let a folder be scanned again, as far as its pictures, just before they are taken."""
    real = castlist.cast.series.write_episode

    def begin(folder, other):
        def late(*given):
            if given[-1] == folder / FACES:
                shutil.copyfile(other / TRACKS, folder / "new")
                (folder / "new").replace(folder / TRACKS)
                shutil.rmtree(folder / FACES)
                shutil.copytree(other / FACES, folder / FACES)
            real(*given)

        monkeypatch.setattr(castlist.cast.series, "write_episode", late)

    return begin


def test_no_pictures_of_another_scan_are_joined(tmp_path, rescanned):
    one, two, other = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3))
    rescanned(two, other)
    with pytest.raises(CastlistError, match="e2.cast was scanned again"):
        join([one, two], tmp_path / "season.cast")
    assert not (tmp_path / "season.cast").exists()


def test_no_pictures_of_another_scan_are_added(tmp_path, rescanned):
    one, two, three, other = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3, 4))
    season = tmp_path / "season.cast"
    join([one, two], season)
    rescanned(three, other)
    with pytest.raises(CastlistError, match="e3.cast was scanned again"):
        add(season, three)
    assert Corrections(season).tracks.videos == ("e1.mp4", "e2.mp4")


def test_a_video_may_lie_where_nothing_can_be_written(tmp_path):
    one, two = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2))
    two.chmod(0o555)
    join([one, two], tmp_path / "season.cast")
    assert len(list((tmp_path / "season.cast" / EPISODES).iterdir())) == 2
    two.chmod(0o755)
