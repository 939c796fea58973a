"""Processor time of detector and describer, beside another version of castlist.

``python benchmarks/bench_networks.py VIDEO [--against CHECKOUT]`` takes pictures of VIDEO, detects
faces in them in 640 pixels, and describes eight faces at a time: one thread, milliseconds per
picture and per face, the best of several rounds. With ``--against``, the code of another checkout
runs in turn with this one, in processes of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

PICTURES, ROUNDS = 40, 3


def child(path: Path) -> None:
    """Print the milliseconds of one process."""
    import cv2
    import numpy as np

    from castlist.video.describe import open_describer
    from castlist.video.detect import open_detector
    from castlist.video.frames import open_video

    cv2.setNumThreads(1)
    detector, describer = open_detector(), open_describer()
    with open_video(path) as video:
        images = []
        for frame in video.frames():
            if frame.number % 12 == 0:
                images.append(frame.image())
            if len(images) == PICTURES:
                break
    rng = np.random.default_rng(0)
    crops = [rng.integers(0, 255, (112, 112, 3), np.uint8) for _ in range(8)]
    best = {"detect": float("inf"), "describe": float("inf")}
    detector.detect(images[0])
    describer.describe(crops)
    for _ in range(ROUNDS):
        began = time.process_time()
        for image in images:
            detector.detect(image)
        best["detect"] = min(best["detect"], (time.process_time() - began) / len(images))
        began = time.process_time()
        for _ in range(5):
            describer.describe(crops)
        best["describe"] = min(best["describe"], (time.process_time() - began) / 40)
    print(json.dumps({name: 1000 * seconds for name, seconds in best.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("--against", type=Path, help="a checkout of another version")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.video)
        return
    here = Path(__file__).resolve().parent.parent
    checkouts = [here] + ([given.against.resolve()] if given.against else [])
    found: dict[Path, list[dict[str, float]]] = {one: [] for one in checkouts}
    for _ in range(3):
        for one in checkouts:
            done = subprocess.run(
                [sys.executable, __file__, str(given.video), "--child"],
                env=os.environ | {"PYTHONPATH": str(one / "src"), "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE, encoding="utf-8", check=True,
            )  # fmt: skip
            found[one].append(json.loads(done.stdout.splitlines()[-1]))
    for name in ("detect", "describe"):
        best = [min(run[name] for run in runs) for runs in found.values()]
        ratio = f", {best[0] / best[1]:.2f} of {best[1]:.1f} ms" if len(best) > 1 else ""
        print(f"{name}: {best[0]:.1f} ms{ratio}")


if __name__ == "__main__":
    main()
