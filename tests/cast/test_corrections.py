from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

from castlist import InputError
from castlist.cast.corrections import Corrections, checked_name
from castlist.cast.folder import CORRECTIONS
from castlist.cast.links import OverlappingTracksError
from castlist.cast.log import ConflictError
from datasets.synthetic_casts import made_video, write_folder


@pytest.fixture
def folder(tmp_path):
    """Four people, five tracks each; odd tracks share frames with the one before them."""
    return write_folder(tmp_path / "film.cast", made_video())


@pytest.fixture
def cast(folder):
    with Corrections(folder) as cast:
        yield cast


def people(cast: Corrections) -> dict[int, set[str]]:
    """Return who is in each character."""
    return {
        one.number: set(cast.tracks.identity[one.tracks].tolist()) for one in cast.cast.characters
    }


def tracks_of(cast: Corrections, which) -> list[str]:
    return [str(name) for name in cast.tracks.ids[cast.character(which).tracks]]


def shape(cast: Corrections) -> list:
    """Return the cast in full, to compare."""
    return [
        (one.number, one.name, one.background, one.state, one.tracks.tolist())
        for one in cast.cast.characters
    ]


def what_was_said(cast: Corrections) -> set:
    """Return the cast but for the numbers, which are a scan's own."""
    return {
        (one.name, one.state, tuple(sorted(one.tracks.tolist()))) for one in cast.cast.characters
    }


def test_leaving_the_context_closes_the_log(folder):
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
        assert cast.log._db is not None
    assert cast.log._db is None


def test_it_begins_as_clustered(cast):
    assert people(cast) == {n: {f"p{n - 1}"} for n in (1, 2, 3, 4)}
    assert {one.state for one in cast.cast.characters} == {"unreviewed"}
    assert cast.last == 0


def test_a_name_stays_and_can_be_taken_away(cast, folder):
    cast.name(2, "  Anna\tLee ")
    again = Corrections(folder)
    assert again.character("Anna Lee").number == 2
    assert again.character(2).state == "named"
    again.name("Anna Lee", "")
    cast.refresh()
    assert cast.character(2).title == "Character 2"
    assert cast.character(2).state == "unreviewed"


def test_merge_keeps_the_first_number_and_any_name(cast):
    cast.name(3, "Bo")
    cast.merge([1, 3])
    assert people(cast) == {1: {"p0", "p2"}, 2: {"p1"}, 4: {"p3"}}
    assert cast.character(1).name == "Bo"


def test_merging_different_names_needs_the_name_to_keep(cast):
    cast.name(1, "Anna")
    cast.name(3, "Bo")
    with pytest.raises(InputError, match="Anna and Bo: give the name to keep"):
        cast.merge([1, 3])
    cast.merge([1, 3], name="Bo")
    assert cast.character(1).name == "Bo"


def test_tracks_that_share_a_frame_are_not_merged_unless_waived(cast):
    with pytest.raises(OverlappingTracksError, match="share a frame, the first at") as caught:
        cast.merge([1, 2])
    assert caught.value.pairs[0] == ("0000", "0001")
    assert cast.last == 0
    cast.merge([1, 2], waive=True)
    assert people(cast)[1] == {"p0", "p1"}
    # What was waived once is waived: taken apart and put together again, nobody asks.
    cast.move(tracks_of(cast, 1)[:1])
    cast.move(["0000"], to=1)
    with pytest.raises(OverlappingTracksError):
        cast.move(["0002"], to=4)


def test_move_and_split(cast):
    cast.move(["0000", "0004"], to=3)
    assert {"0000", "0004"} < set(tracks_of(cast, 3))
    cast.move(["0000"])
    assert tracks_of(cast, 5) == ["0000"]
    with pytest.raises(InputError, match="already a character of their own"):
        cast.move(["0000"])
    with pytest.raises(InputError, match="already in that character"):
        cast.move(["0004"], to=3)


def test_whole_characters_can_be_split_off_together(cast):
    cast.move(["0000"])
    cast.move(["0004"])
    cast.move(["0000", "0004"])
    assert tracks_of(cast, int(cast.state.owner[cast.rows(["0000"])[0]])) == ["0000", "0004"]
    cast.move(["0001"])
    cast.undo()
    with pytest.raises(
        OverlappingTracksError, match=r"^1 pair of these tracks shares a frame, at 0\.0 s"
    ):
        cast.move(["0000", "0001"])


@pytest.mark.parametrize("to", [None, 3])
def test_tracks_that_are_not_a_face_are_not_moved(cast, to):
    cast.not_face(["0000"])
    with pytest.raises(InputError, match="'0000' is marked as not a face; mark it"):
        cast.move(["0000", "0004"], to)


def test_a_character_whose_tracks_all_leave_is_gone_with_its_name(cast):
    cast.name(1, "Anna")
    cast.move(tracks_of(cast, 1), to=3)
    assert [one.number for one in cast.cast.characters] == [3, 2, 4]
    assert "Anna" not in {one.name for one in cast.cast.characters}
    cast.undo()
    assert cast.character("Anna").number == 1


def test_not_a_face_leaves_the_cast_and_comes_back(cast):
    before = shape(cast)
    cast.not_face(tracks_of(cast, 1))
    assert 1 not in people(cast)
    cast.not_face(["0000"], False)
    assert tracks_of(cast, 1) == ["0000"]
    cast.undo()
    cast.undo()
    assert shape(cast) == before


def test_several_characters_are_marked_as_background(cast):
    cast.background([1, 4])
    assert [one.state for one in cast.cast.characters] == [
        "unreviewed", "unreviewed", "background", "background",
    ]  # fmt: skip
    cast.background([1], False)
    assert cast.character(1).state == "unreviewed"
    with pytest.raises(InputError, match="no characters"):
        cast.background([])


def test_answers(cast):
    cast.answer(tracks_of(cast, 1)[:2], [tracks_of(cast, 3)[:2]])
    assert people(cast)[1] == {"p0", "p2"}  # whole characters, not only what was shown
    cast.answer(["0000", "0004"], [], [["0002"]])  # and yet these are two people
    assert tracks_of(cast, 5) == ["0002"]
    with pytest.raises(InputError, match="in two groups of one answer"):
        cast.answer(["0000"], [["0000"]])
    with pytest.raises(InputError, match="in two groups of one answer"):
        cast.answer(["0000"], [["0002"]], [["0002"]])
    with pytest.raises(InputError, match="the answer compares no tracks"):
        cast.answer(["0000"])


def test_one_answer_puts_some_in_and_takes_others_out(cast):
    """Of a character of two people and a piece elsewhere, as a question shows them."""
    cast.merge([1, 3])
    own = [track for track in tracks_of(cast, 1) if int(track) % 4 == 0]
    cast.move(own[:2])  # a piece of the first person
    others = [track for track in tracks_of(cast, 1) if int(track) % 4 == 2]
    cast.answer(own[2:3], [own[:1], own[3:]], [others[:1], others[1:]])
    assert tracks_of(cast, 1) == own
    gone = [t for n, who in people(cast).items() if who == {"p2"} for t in [tracks_of(cast, n)]]
    assert sorted(gone) == [others[:1], others[1:]]  # two strips may be two people
    cast.undo()
    assert tracks_of(cast, 1) == sorted(own[2:] + others)


def test_tracks_that_leave_in_an_answer_need_no_waiver(cast):
    cast.merge([1, 2], waive=True)
    cast.undo()
    cast.merge([2, 3])
    mine = [track for track in tracks_of(cast, 2) if int(track) % 4 == 1]
    with pytest.raises(OverlappingTracksError):
        cast.answer(tracks_of(cast, 1), [tracks_of(cast, 2)])
    cast.answer([t for t in tracks_of(cast, 2) if int(t) % 4 == 2], [], [mine])
    assert people(cast)[2] == {"p2"}


def test_undo_goes_back_step_by_step_and_redo_forward(cast):
    shapes = [shape(cast)]
    steps = [
        lambda: cast.name(1, "Anna"),
        lambda: cast.merge([1, 3]),
        lambda: cast.move(["0000"]),
        lambda: cast.background([2]),
        lambda: cast.not_face(["0001"]),
    ]
    for step in steps:
        step()
        shapes.append(shape(cast))
    for wanted in shapes[-2::-1]:
        cast.undo()
        assert shape(cast) == wanted
    with pytest.raises(InputError, match="nothing to undo"):
        cast.undo()
    for wanted in shapes[1:]:
        cast.redo()
        assert shape(cast) == wanted
    with pytest.raises(InputError, match="nothing to redo"):
        cast.redo()
    cast.undo()
    cast.name(2, "Bo")  # a new turn: what was undone is past
    with pytest.raises(InputError, match="nothing to redo"):
        cast.redo()
    assert [event.kind for event, _ in cast.history].count("undo") == 6


def test_two_at_once_cannot_overwrite_each_other(cast, folder):
    other = Corrections(folder)
    other.name(1, "Anna")
    with pytest.raises(ConflictError):
        cast.name(1, "Bo", after=0)
    cast.refresh()
    assert cast.character(1).name == "Anna"
    cast.name(1, "Bo", after=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.name(9, "x"), "no character 9"),
        (lambda c: c.name(1, "x" * 201), "at most 200"),
        (lambda c: c.name(1, "a\x00b"), "control"),
        (lambda c: c.merge([1]), "two characters"),
        (lambda c: c.merge([1, 1]), "two characters"),
        (lambda c: c.move(["nope"]), "no track 'nope'"),
        (lambda c: c.move([]), "no tracks"),
    ],
)
def test_bad_input_says_what_is_wrong_and_changes_nothing(cast, call, message):
    with pytest.raises(InputError, match=message):
        call(cast)
    assert cast.last == 0


def test_not_a_cast(tmp_path):
    with pytest.raises(InputError, match="castlist scan"):
        Corrections(tmp_path)


def test_names_are_one_line_with_something_to_be_seen():
    assert checked_name(" a \n b ") == "a b"
    assert checked_name("Zoe\u0308") == "Zoë"
    assert checked_name("👩\u200d🔬") == "👩\u200d🔬"
    assert checked_name("") == ""  # no name
    # Spaces of several kinds, joiners and combining marks, and letters that are drawn as nothing.
    for blank in (" ", "\t\n", "\u00a0\u3000", "\u200b", "\u2060 \u200b", "\u0301",
                  "\u3164", "\uffa0", "\u115f\u1160", "\u2800", "\U0001d159"):  # fmt: skip
        with pytest.raises(InputError, match="a visible character"):
            checked_name(blank)


@pytest.mark.parametrize(
    "say",
    [
        lambda cast: cast.name(1, " "),
        lambda cast: cast.merge([1, 3], name="\u3000"),
        lambda cast: cast.not_named(1, "\u3164"),
    ],
)
def test_a_blank_name_is_refused_and_removes_none(cast, say):
    cast.name(1, "Anna")
    with pytest.raises(InputError, match="a visible character"):
        say(cast)
    assert cast.character("Anna").number == 1
    assert cast.last == 1


def test_moving_what_is_there_as_well_keeps_the_character(cast):
    cast.name(1, "Anna")
    cast.move([*tracks_of(cast, 1), "0002"], to=1)
    assert cast.character("Anna").number == 1
    assert "0002" in tracks_of(cast, 1)


def test_an_answer_does_not_drop_a_name(cast):
    cast.name(1, "Anna")
    cast.name(3, "Bo")
    with pytest.raises(InputError, match="Anna and Bo: merge"):
        cast.answer(["0000"], [["0002"]])


def test_naming_what_is_left_keeps_its_number(cast):
    cast.answer(["0002"], [["0000"]])
    merged = next(n for n, who in people(cast).items() if who == {"p0", "p2"})
    cast.move(["0000", *(t for t in tracks_of(cast, merged) if int(t) % 4 == 2)])
    cast.name(merged, "Anna")
    assert cast.character("Anna").number == merged


def test_a_damaged_log_is_an_input_error(cast, folder):
    cast.name(1, "Anna")
    cast.close()
    with sqlite3.connect(folder / CORRECTIONS) as db:
        db.execute("DROP TABLE anchors")
    db.close()
    with pytest.raises(InputError, match="damaged log"):
        Corrections(folder)


def test_two_connections_in_one_process_keep_their_locks(cast, folder):
    """To close a database's file elsewhere in a process would: a third then deletes its WAL."""
    cast.name(1, "Anna")
    second = Corrections(folder)
    code = "import sys; from castlist import Corrections; Corrections(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    cast.name(2, "Bo")
    cast.close()
    second.close()
    assert Corrections(folder).character("Bo").number == 2


def test_a_number_is_a_number_and_a_name_a_name(cast):
    cast.name(1, "4")
    assert cast.character(4).number == 4
    assert cast.character("4").number == 4
    cast.name(2, "Bo")
    cast.name(3, "Bo")
    with pytest.raises(InputError, match="2 characters are called 'Bo': 2 and 3"):
        cast.character("Bo")


# After another scan


def test_corrections_survive_another_scan(cast, folder):
    """Other ids, another rate, and a clustering that makes every mistake again."""
    cast.name(1, "Anna")
    cast.merge([2, 4])
    cast.move(["0002"])
    cast.background([3])
    said = what_was_said(cast)
    write_folder(folder, made_video(rate=3, prefix="new"), rate=3.0)
    cast.refresh()  # the page that is open takes it up
    for now in (cast, Corrections(folder)):
        assert what_was_said(now) == said
        assert not now.lost


def test_two_that_were_named_stay_two_though_a_scan_takes_them_for_one(cast, folder, monkeypatch):
    cast.name(1, "Anna")
    cast.name(3, "Bo")
    monkeypatch.setattr("datasets.synthetic_casts.THRESHOLD", 4.0)  # everybody is near everybody
    write_folder(folder, made_video(prefix="new"))
    now = Corrections(folder)
    assert set(now.tracks.identity[now.character("Anna").tracks]) == {"p0"}
    assert set(now.tracks.identity[now.character("Bo").tracks]) == {"p2"}


def test_new_tracks_of_a_named_character_come_to_it(cast, folder):
    cast.merge([1, 3], name="Anna")
    write_folder(folder, made_video(each=8, prefix="new"))
    now = Corrections(folder)
    assert set(now.tracks.identity[now.character("Anna").tracks]) == {"p0", "p2"}
    assert len(now.character("Anna").tracks) == 16


def test_corrections_of_lost_tracks_are_listed_and_kept(cast, folder):
    whole = made_video()
    cast.name(4, "Dana")
    cast.not_face(["0003"])
    without = whole[whole.identity != "p3"]
    write_folder(folder, without)
    now = Corrections(folder)
    assert [(one.event.kind, len(one.there)) for one in now.lost] == [
        ("not_face", 0), *[("name", 0)] * 4,
    ]  # fmt: skip
    assert "Dana" not in {one.name for one in now.cast.characters}
    write_folder(folder, whole)  # and when they are there again, so is what was said
    back = Corrections(folder)
    assert not back.lost
    assert len(back.character("Dana").tracks) == 4


def test_answers_at_once_are_answers_one_after_the_other_in_one_event(tmp_path):
    said = [
        {"one": ["0000"], "different": [["0004"]]},
        {"one": ["0004"], "same": [["0002"]]},  # about who left just now
        {"one": ["0001"], "different": [["0005"]], "instead": [["0003"]]},
        {"one": ["0003"], "mixed": [["0003", "0007"]]},
    ]
    casts = [Corrections(write_folder(tmp_path / f"{n}.cast", made_video())) for n in (1, 2)]
    before = shape(casts[0])
    casts[0].answers(said, waive=True)
    for one in said:
        casts[1].answer(**one, waive=True)
    at_once, one_by_one = (
        (shape(cast), cast.state.checked.tolist(), cast.state.waived,
         [[rows.tolist() for rows in pair] for pair in cast.state.different + cast.state.same],
         [rows.tolist() for rows in cast.state.mixed])
        for cast in casts
    )  # fmt: skip
    assert at_once == one_by_one
    assert [cast.last for cast in casts] == [1, 4]
    casts[0].undo()
    assert shape(casts[0]) == before
    with pytest.raises(InputError, match="the answer compares no tracks"):
        casts[0].answers([])
    with pytest.raises(InputError, match="no track 'nobody'"):
        casts[0].answers([*said, {"one": ["nobody"], "same": [["0000"]]}], waive=True)
    assert shape(casts[0]) == before
