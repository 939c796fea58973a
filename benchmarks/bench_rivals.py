"""castlist beside what a user would write instead: ``python benchmarks/bench_rivals.py VIDEO``.

VIDEO is one that ``bench_scan.py --keep`` composed, with its truth beside it. Each way looks at
five pictures per second, in a process of its own:

- castlist: ``castlist scan``.
- insightface: a face detector (YuNet in OpenCV: insightface's own cannot be had from a package) and
  insightface's MobileFaceNet in onnxruntime for every face, then DBSCAN of scikit-learn on cosines.
- dlib: what face_recognition does: HOG detector, five landmarks, ResNet, then Chinese whispers at
  0.5. ``--dlib FOLDER`` has the files of the package face_recognition_models.

Printed: seconds, seconds of the processor, memory, faces, clusters, and NMI of faces with people.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.score.metrics import nmi
from castlist.video.frames import Image, open_video
from datasets.clip_video import read_truth, truth_at

RATE = 5.0
Found = list[tuple[float, NDArray[np.float64], int]]  # time, box, cluster


def pictures(path: Path) -> Iterator[tuple[float, Image]]:
    """Yield five pictures per second, with their times."""
    due = 0.0
    with open_video(path) as video:
        for frame in video.frames():
            if frame.time >= due - 1e-6:
                yield frame.time, frame.image()
                due += 1 / RATE


def by_castlist(path: Path, _: Path | None) -> Found:
    from castlist import read_tracks, scan

    with tempfile.TemporaryDirectory() as folder:
        found = scan(path, Path(folder) / "cast")
        tracks = read_tracks(found.folder / "tracks.parquet")
        label = np.empty(len(tracks), np.int64)
        for one in found.cast.characters:
            label[one.tracks] = one.number
    of = tracks.track_of_face
    return [
        (float(tracks.time[k]), tracks.box[k].astype(np.float64), int(label[of[k]]))
        for k in range(tracks.n_faces)
    ]


def by_insightface(path: Path, _: Path | None) -> Found:
    import cv2
    import onnxruntime
    from sklearn.cluster import DBSCAN

    from castlist.video.align import aligned
    from castlist.video.weights import fetch

    detector = cv2.FaceDetectorYN.create(str(fetch("yunet")), "", (640, 360), 0.6, 0.3)
    session: Any = onnxruntime.InferenceSession(
        str(fetch("arcface-mbf")), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    places, features = [], []
    for moment, image in pictures(path):
        detector.setInputSize((image.shape[1], image.shape[0]))
        rows = detector.detect(image)[1]
        for row in rows if rows is not None else ():
            face = aligned(image, row[4:14].reshape(5, 2))
            blob = (face[..., ::-1].astype(np.float32) - 127.5) / 127.5
            features.append(session.run(None, {name: blob.transpose(2, 0, 1)[None]})[0][0])
            places.append((moment, row[:4].astype(np.float64)))
    unit = np.array(features) / np.linalg.norm(features, axis=1, keepdims=True)
    labels = DBSCAN(eps=0.5, min_samples=3, metric="cosine").fit_predict(unit)
    return [(*place, int(label)) for place, label in zip(places, labels, strict=True)]


def by_dlib(path: Path, models: Path | None) -> Found:
    import dlib

    if models is None:
        raise SystemExit("--dlib: the folder of face_recognition_models is not given")
    detector = dlib.get_frontal_face_detector()
    landmarks = dlib.shape_predictor(str(models / "shape_predictor_5_face_landmarks.dat"))
    network = dlib.face_recognition_model_v1(
        str(models / "dlib_face_recognition_resnet_model_v1.dat")
    )
    places, features = [], []
    for moment, image in pictures(path):
        rgb = np.ascontiguousarray(image[..., ::-1])
        for box in detector(rgb, 1):
            features.append(network.compute_face_descriptor(rgb, landmarks(rgb, box)))
            sides = (box.left(), box.top(), box.width(), box.height())
            places.append((moment, np.array(sides, np.float64)))
    labels = dlib.chinese_whispers_clustering(features, 0.5)
    return [(*place, int(label)) for place, label in zip(places, labels, strict=True)]


WAYS = {"castlist": by_castlist, "insightface": by_insightface, "dlib": by_dlib}


def judged(found: Found, truth: Path) -> dict[str, float]:
    """Return how many faces and clusters there are, and how well they fit the people."""
    shots = read_truth(truth)
    who, labels = [], []
    for moment, (x, y, w, h), label in found:
        for person, (left, top, across, down) in truth_at(shots, moment + 1e-3):
            if left <= x + w / 2 < left + across and top <= y + h / 2 < top + down:
                who.append(person)
                labels.append(label)
                break
    return {"faces": len(found), "clusters": len(set(labels)), "nmi": nmi(who, labels)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("--dlib", type=Path, help="folder with dlib's two model files")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        began = time.perf_counter()
        found = WAYS[given.way](given.video, given.dlib)
        seconds = time.perf_counter() - began
        import resource  # not on Windows

        used = resource.getrusage(resource.RUSAGE_SELF)
        about = {"seconds": seconds, "processor": used.ru_utime + used.ru_stime}
        about |= {"peak": used.ru_maxrss / 2**20}
        print(json.dumps(about | judged(found, given.video.with_suffix(".truth.json"))))
        return
    print("| | seconds | of the processor | peak, GiB | faces | clusters | NMI |")
    print("|---|---|---|---|---|---|---|")
    for way in WAYS:
        if way == "dlib" and given.dlib is None:
            continue
        words = [sys.executable, __file__, str(given.video), "--way", way]
        words += ["--dlib", str(given.dlib)] if given.dlib else []
        done = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", check=True)
        one = json.loads(done.stdout.splitlines()[-1])
        print(
            f"| {way} | {one['seconds']:.0f} | {one['processor']:.0f} | {one['peak']:.2f} | "
            f"{one['faces']} | {one['clusters']} | {one['nmi']:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
