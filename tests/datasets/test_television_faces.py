from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from castlist.video.describe import open_describer
from castlist.video.detect import open_detector
from datasets import television_faces
from datasets.television_faces import Broadcast, faces_of_mosaic, read_photos, sent


@pytest.mark.parametrize("codec", television_faces.CODECS)
def test_a_codec_loses_more_at_a_lower_quality(codec):
    rng = np.random.default_rng(0)
    frame = np.kron(rng.integers(0, 255, (15, 20, 3), np.uint8), np.ones((8, 8, 1), np.uint8))
    frames = [np.roll(frame, 2 * k, axis=1) for k in range(television_faces.FRAMES)]
    lost = []
    for quality in (0.0, 1.0):
        cast = replace(Broadcast.draw(rng), codec=codec, quality=quality)
        shown = sent(frames, cast)
        assert len(shown) == len(frames)
        pairs = zip(frames, shown, strict=True)
        lost.append(np.mean([np.abs(a.astype(int) - b).mean() for a, b in pairs]))
    assert 1.3 * lost[1] < lost[0]


def test_small_faces_are_found_again_and_our_describer_knows_them(faces, tmp_path):
    """Faces of 20 to 32 pixels: to their own photograph, and to those of others."""
    with zipfile.ZipFile(faces / "lfw.zip") as lfw:
        files = [name for name in sorted(lfw.namelist()) if name.endswith("_0001.jpg")][:60]
        lfw.extractall(tmp_path, files)
    (tmp_path / "people.txt").write_text("\n".join(Path(name).parts[1] for name in files))
    photos, who = read_photos(tmp_path / "lfw", tmp_path / "people.txt")
    assert len(photos) == len(set(who)) > 50
    rng, detector = np.random.default_rng(1), open_detector()
    found = [face for _ in range(12) for face in faces_of_mosaic(photos, detector, rng)]
    found = [face for face in found if 20 <= face[1] < 32]
    own = np.array([photo for photo, _, _ in found])
    assert len(found) > 20
    gap = {}
    for name in ("sface", "sface-tv"):
        describer = open_describer(name)
        clean = describer.describe([describer.crop(p.image, p.box, p.landmarks) for p in photos])
        cosine = describer.describe([crop for _, _, crop in found]) @ clean.T
        right = cosine[np.arange(len(own)), own]
        cosine[np.arange(len(own)), own] = -1
        gap[name] = np.mean(right > np.quantile(cosine, 0.99, axis=1))
    assert gap["sface-tv"] > gap["sface"] > 0.2
