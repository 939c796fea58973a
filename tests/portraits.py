"""A cast of the people of the portraits, described by the real networks, without a scan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from castlist import TrackSet
from castlist.video.describe import Describer
from castlist.video.detect import Detector
from castlist.video.images import face_in
from datasets.demo_video import NAMES
from datasets.synthetic_casts import write_folder


def portrait_cast(
    pictures: Sequence[Path], home: Path, detector: Detector, describer: Describer
) -> Path:
    """Write a cast of the first three people: their portraits, mirrored and darker, as tracks."""
    ids, features, times = [], [], []
    for who in range(3):
        for take in range(3):
            image = cv2.flip(cv2.imread(str(pictures[who])), 1)
            path = home / f"{who}{take}.png"
            cv2.imwrite(str(path), cv2.convertScaleAbs(image, alpha=0.5 + 0.2 * take))
            picture, faces = face_in(path, detector)
            crop = describer.crop(picture, faces.box[0], faces.landmarks[0])
            ids += [f"{who}{take}"] * 2
            features += [describer.describe([crop])[0]] * 2
            times += [10.0 * who + 3 * take + k for k in range(2)]
    tracks = TrackSet.from_faces(
        ids, feature=np.array(features), identity=[NAMES[int(one[0])] for one in ids],
        time=times, frame=[round(25 * t) for t in times], box=[[50.0, 60, 90, 90]] * len(ids),
        video="film.mp4", describer=describer.name,
    )  # fmt: skip
    labels = [int(one[0]) for one in tracks.ids.tolist()]
    return write_folder(home / "film.cast", tracks, labels, pictures=True)
