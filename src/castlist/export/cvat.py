"""Write CVAT for video 1.1: tracks of boxes, labelled by character.

``io/box_tracks.py`` reads this format.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from castlist.export.timecode import frame_at
from castlist.export.timeline import Timeline

#: Colours of labels; the leading character is blue.
_COLOURS = ("#3377ee", "#22aa99", "#55aa22", "#ddaa00", "#ee7722", "#dd3344", "#ee66aa", "#8844cc")


def cvat_lines(timeline: Timeline) -> Iterator[str]:
    """Yield the XML: one keyframe per face. CVAT interpolates the boxes in between."""
    tracks, frame = timeline.tracks, timeline.face_frames()
    size = timeline.stored_size or timeline.size
    corners = _corners(timeline.stored_boxes(), size)
    stop = max(frame_at(timeline.duration, timeline.rate) - 1, int(frame.max(initial=0)))
    yield '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n<version>1.1</version>\n'
    yield from _meta(timeline, stop, size)
    for person in timeline.people:
        for track in person.tracks.tolist():
            faces = np.arange(tracks.offsets[track], tracks.offsets[track + 1])
            faces = faces[np.isfinite(tracks.box[faces]).all(axis=1)]
            if not len(faces):
                continue
            label = quoteattr(person.label)
            yield f'<track id="{track}" label={label} source="auto">\n'
            for face in faces.tolist():
                yield _box(int(frame[face]), corners[face], outside=False)
            last = int(faces[-1])
            if frame[last] < stop:  # otherwise CVAT keeps the box until the end of the video
                yield _box(int(frame[last]) + 1, corners[last], outside=True)
            yield "</track>\n"
    yield "</annotations>\n"


def _meta(timeline: Timeline, stop: int, size: tuple[int, int] | None) -> Iterator[str]:
    name = escape(timeline.video)
    yield f"<meta>\n<task>\n<name>{name}</name>\n<size>{stop + 1}</size>\n"
    yield "<mode>interpolation</mode>\n<overlap>0</overlap>\n"
    yield f"<start_frame>0</start_frame>\n<stop_frame>{stop}</stop_frame>\n<labels>\n"
    for label, colour in timeline.coloured(_COLOURS).items():
        yield (
            f"<label><name>{escape(label)}</name><color>{colour}</color>"
            "<type>rectangle</type><attributes></attributes></label>\n"
        )
    yield "</labels>\n"
    if size is not None:
        width, height = size
        yield f"<original_size><width>{width}</width><height>{height}</height></original_size>\n"
    yield f"<source>{name}</source>\n</task>\n</meta>\n"


def _corners(box: NDArray[np.float64], size: tuple[int, int] | None) -> NDArray[np.float64]:
    """Return the corners of faces, clipped to the picture, as CVAT requires."""
    corners = np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1)
    return corners if size is None else np.clip(corners, 0, np.tile(size, 2))


def _box(frame: int, corners: NDArray[np.float64], outside: bool) -> str:
    sides = zip(("xtl", "ytl", "xbr", "ybr"), corners, strict=True)
    text = " ".join(f'{name}="{value:.2f}"' for name, value in sides)
    return (
        f'<box frame="{frame}" keyframe="1" outside="{int(outside)}" occluded="0" {text} '
        'z_order="0"></box>\n'
    )
