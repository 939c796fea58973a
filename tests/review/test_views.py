from __future__ import annotations

from dataclasses import replace

from castlist.cast.corrections import Corrections
from castlist.cast.folder import FACES
from castlist.io.pictures import write_covers
from castlist.report.page import report_folder
from castlist.review.views import cast_view
from datasets.synthetic_casts import made_video, write_folder, write_frames


def first_faces(folder):
    cast = Corrections(folder)
    faces = [one["id"] for one in cast_view(cast)["characters"][0]["faces"]]
    report = report_folder(cast).read_text("utf-8")
    cast.close()
    return faces, report


def test_the_cover_is_the_best_picture_here_and_in_the_report(tmp_path):
    tracks = made_video()
    folder = write_folder(tmp_path / "film.cast", tracks, pictures=True)
    covers = write_frames(folder, tracks)
    before, _ = first_faces(folder)
    best = before[3]
    at = float(tracks.time[tracks.offsets[tracks.ids.tolist().index(best)]])
    write_covers(folder / FACES, covers | {best: replace(covers[best], quality=0.7, time=61.0)})
    faces, report = first_faces(folder)
    assert faces == [best, *(one for one in before if one != best)]
    assert report.index('data-caption="1:01"') < report.index(f"Character 1 at 0:{int(at):02}")


def test_a_track_without_a_picture_is_replaced_by_a_neighbour(tmp_path):
    """The replacement comes from the same part of the video."""
    tracks = made_video(people=1, each=12, pairs=False)
    folder = write_folder(tmp_path / "film.cast", tracks, [0] * 12, pictures=True)
    before, _ = first_faces(folder)
    for picture in (folder / FACES).glob(f"{before[0]}_*.jpg"):
        picture.unlink()
    after, _ = first_faces(folder)
    assert len(before) == len(after) == 5
    assert after[1:] == before[1:]
    assert abs(int(after[0]) - int(before[0])) <= 2
