from __future__ import annotations

import re
from base64 import b64decode

import numpy as np

from castlist import make_cast
from castlist.cast.cards import MOST_CARDS
from castlist.cast.corrections import Corrections
from castlist.cast.series import join
from datasets.synthetic_casts import made_video, write_folder
from tests.cast.test_series import episode


def pictures(html: str) -> list[bytes]:
    return [b64decode(data) for data in re.findall(r"base64,([^\"]+)", html)]


def test_a_card_has_name_screen_time_tracks_and_the_best_picture(tmp_path):
    tracks = made_video()
    folder = write_folder(tmp_path / "film.cast", tracks, pictures=True)
    with Corrections(folder) as corrections:
        corrections.name(1, "Anna <Lee>")
        cast = corrections.cast
    html = cast._repr_html_()
    assert html.count("<img") == len(cast.characters) == 4
    assert "Anna &lt;Lee&gt;" in html
    assert "Anna <Lee>" not in html
    assert html.count("· 5 tracks") == 4
    for one, data in zip(cast.characters, pictures(html), strict=True):
        own = [f"{track}_0.jpg" for track in tracks.ids[one.tracks]]
        assert data in [(folder / "faces" / name).read_bytes() for name in own]


def test_a_joined_cast_has_pictures_of_its_videos(tmp_path):
    join([episode(tmp_path, f"e{k}", 3, seed=k) for k in (1, 2)], tmp_path / "both.cast")
    with Corrections(tmp_path / "both.cast") as corrections:
        html = corrections.cast._repr_html_()
    assert len(pictures(html)) == len(corrections.cast.characters)


def test_without_a_folder_there_are_cards_without_pictures():
    tracks = made_video(people=MOST_CARDS + 2, each=1, dim=64)
    labels = np.unique(tracks.identity, return_inverse=True)[1]
    cast = make_cast(tracks, labels, tracks.mean_features(), 60.0)
    html = cast._repr_html_()
    assert "<img" not in html
    assert "26 characters" in html
    assert "and 2 more characters" in html
    assert "Character 1<" in html
