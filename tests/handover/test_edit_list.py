"""Clips on a timeline, read back by OpenTimelineIO and its adapters."""

from __future__ import annotations

import pytest

from castlist import InputError
from castlist.export.timeline import timelines
from castlist.handover.edit_list import EDIT_LISTS, cuts_of
from castlist.handover.scenes import find_scenes
from tests.export.casts import made_cast

opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14

ADAPTERS = {
    "otio": "otio_json", "edl": "cmx_3600", "fcpxml": "fcpx_xml", "premiere": "fcp_xml"
}  # fmt: skip


@pytest.mark.parametrize("name", EDIT_LISTS)
@pytest.mark.parametrize("rate", [25, 29.97])
def test_an_editor_gets_the_scenes_one_after_another(tmp_path, name, rate):
    cast = made_cast(tmp_path / "f.cast", rate, video="Folge 1 é.mp4")
    scenes = find_scenes(cast, [cast.cast.characters[-1].number])
    assert len(scenes) > 1
    cuts, exact = cuts_of(timelines(cast), scenes)
    suffix, write = EDIT_LISTS[name]
    text = "".join(write(cuts, exact, "Anna"))
    options = {"rate": float(exact)} if name == "edl" else {}
    read = opentimelineio.adapters.read_from_string(text, ADAPTERS[name], **options)
    if not isinstance(read, opentimelineio.schema.Timeline):
        (read,) = read
    clips = list(read.find_clips())
    assert len(clips) == len(scenes)
    half = 0.5 / float(exact) + 1e-6
    for clip, scene, cut in zip(clips, scenes, cuts, strict=True):
        span = clip.trimmed_range()
        assert span.duration.to_seconds() == pytest.approx(scene.seconds, abs=2 * half)
        assert span.start_time.to_seconds() == pytest.approx(scene.start, abs=2 * half)
        if span.duration.rate > 29.5 or rate == 25:  # the adapter of fcpxml knows whole rates only
            assert cut.length == round(span.duration.to_seconds() * float(exact))
    assert suffix.startswith(".")


def test_no_scene_is_an_error(tmp_path):
    cast = made_cast(tmp_path / "f.cast")
    with pytest.raises(InputError, match="no scene"):
        cuts_of(timelines(cast), [])
