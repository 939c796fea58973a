from __future__ import annotations

import json

import jsonschema
import pytest

from castlist import Corrections
from castlist.cast.series import join
from castlist.export.json import json_lines, json_schema
from castlist.export.timeline import timelines
from datasets.synthetic_casts import episode
from tests.export.casts import (
    AWKWARD,
    SPANS,
    made_cast,
    made_timeline,
    nobody,
    two_videos,
)


def written(lines):
    value = json.loads("".join(json_lines(lines)))
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(value, json_schema(), jsonschema.Draft202012Validator)
    return value


def test_screen_time_is_that_of_the_appearances_and_ends_with_the_video(tmp_path):
    """Of one video, and of two."""
    film = made_cast(tmp_path / "film.cast", spans=[*SPANS, (0.6, 3.0, 0)])
    homes = [episode(tmp_path, f"e{k}", 2, each=2, seed=k) for k in (1, 2)]
    join(homes, tmp_path / "both.cast")
    for cast in (film, Corrections(tmp_path / "both.cast")):
        value = written(timelines(cast))
        lasts = {one["name"]: one["duration"] for one in value["videos"]}
        for one in value["characters"]:
            assert all(t["end"] <= lasts[t["video"]] for t in one["tracks"])
            spans = sum(t["end"] - t["start"] for t in one["appearances"])
            assert one["seconds"] == pytest.approx(spans, abs=0.01)


def test_the_whole_cast(tmp_path):
    value = written([made_timeline(tmp_path / "film.cast", 23.976)])
    (video,) = value["videos"]
    assert video["rate"] == [24000, 1001]
    assert video["size"] == [640, 360]
    first, second = value["characters"]
    assert (second["name"], second["label"], second["reviewed"]) == (AWKWARD, AWKWARD, True)
    assert [t["id"] for t in second["tracks"]] == ["00001", "00002", "00004"]
    assert [(a["start"], a["end"]) for a in second["appearances"]] == [(0, 4.2), (10, 12.2)]
    assert (first["name"], first["label"]) == ("", "Character 1")


def test_who_is_in_two_videos_is_one_character(tmp_path):
    value = written(timelines(two_videos(tmp_path)))
    assert [one["name"] for one in value["videos"]] == ["a.mp4", "b.mp4"]
    assert len(value["characters"]) == 2
    for one in value["characters"]:
        assert {a["video"] for a in one["appearances"]} == {"a.mp4", "b.mp4"}


def test_nobody_and_nothing_known(tmp_path):
    assert written([nobody(tmp_path / "film.cast")])["characters"] == []
    moment = made_timeline(tmp_path / "moment.cast", None, spans=[(0.0, 0.0, 0)])
    assert written([moment])["videos"][0]["rate"] is None


@pytest.mark.parametrize(
    "change", [{"confidence": 2}, {"number": 0}, {"label": ""}, {"tracks": [{"id": "1"}]},
               {"more": 1}, {"appearances": [{"video": "a", "start": -1, "end": 0}]}],
)  # fmt: skip
def test_the_schema_refuses_what_is_wrong(tmp_path, change):
    value = written([made_timeline(tmp_path / "film.cast")])
    value["characters"][0] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, json_schema())
