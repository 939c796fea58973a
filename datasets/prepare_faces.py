"""Turn published face data sets into ``data/faces``: ``prepare_faces.py DOWNLOADS data/faces``.

DOWNLOADS holds the unpacked archives (docs/research/data.md): ``lfw`` (Labeled Faces in the Wild),
``frame_images_DB`` (YouTube Faces) and ``105_classes_pins_dataset`` (Pins face recognition). OUT
receives ``lfw.zip``, ``ytf.zip`` and ``pins.zip``, and lists of the people of LFW to train on, to
validate on, and to leave out because they are in another data set.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]  # height × width × BGR

LFW, YTF, PINS = "lfw", "frame_images_DB", "105_classes_pins_dataset"
LFW_SIDE = 190  # pixels in the middle of a photograph: most of what is around the face is cut off
YTF_PEOPLE, YTF_FRAMES = 347, 5
YTF_MARGIN = 2.0  # side of the cut-out, relative to the labelled face
PINS_PEOPLE, PINS_SIDE = 53, 192
VALIDATION = 0.15  # share of the remaining people of LFW


def draw(names: Iterable[str], count: int) -> list[str]:
    """Return ``count`` names, drawn by their SHA-256, in alphabetical order."""
    return sorted(sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:count])


def split_lfw(people: Sequence[str], others: Iterable[str]) -> dict[str, list[str]]:
    """Divide LFW's people: ``excluded`` if in other data sets, else ``train`` or ``val``."""
    taken = {name.casefold() for name in others}
    left = [name for name in people if name.casefold() not in taken]
    validation = set(draw(left, round(VALIDATION * len(left))))
    return {
        "train": [name for name in left if name not in validation],
        "val": sorted(validation),
        "excluded": [name for name in people if name.casefold() in taken],
    }


def lfw_pictures(folder: Path) -> Iterator[tuple[str, Image]]:
    """Yield the middle of each photograph, by its name in the archive."""
    for path in sorted(folder.glob("*/*.jpg")):
        image = _read(path)
        top, left = ((side - LFW_SIDE) // 2 for side in image.shape[:2])
        cut = image[top : top + LFW_SIDE, left : left + LFW_SIDE]
        yield f"lfw/{path.parent.name}/{path.name}", cut


def ytf_pictures(folder: Path, people: Sequence[str]) -> Iterator[tuple[str, Image]]:
    """Yield five frames per video, cut around the labelled face."""
    for person in people:
        faces: dict[str, list[tuple[Path, list[float]]]] = {}
        with (folder / f"{person}.labeled_faces.txt").open(newline="") as lines:
            for row in csv.reader(lines):
                file = folder / row[0].replace("\\", "/")
                faces.setdefault(file.parent.name, []).append((file, [float(x) for x in row[2:6]]))
        for video, frames in sorted(faces.items()):
            chosen = np.linspace(0, len(frames) - 1, min(YTF_FRAMES, len(frames))).round()
            for number, k in enumerate(chosen.astype(int).tolist()):
                file, (x, y, width, height) = frames[k]
                image = _read(file)
                half = (YTF_MARGIN * width / 2, YTF_MARGIN * height / 2)
                left, top = max(round(x - half[0]), 0), max(round(y - half[1]), 0)
                cut = image[top : round(y + half[1]), left : round(x + half[0])]
                yield f"ytf/{person}/{video}/{number}.jpg", cut


def pins_pictures(folders: Mapping[str, Path]) -> Iterator[tuple[str, Image]]:
    """Yield the photographs of each person, at most 192 pixels a side."""
    for person, folder in folders.items():
        for number, path in enumerate(sorted(folder.glob("*.jpg"))):
            image = _read(path)
            scale = min(1.0, PINS_SIDE / max(image.shape[:2]))
            size = (round(image.shape[1] * scale), round(image.shape[0] * scale))
            small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
            yield f"pins/{person}/{number:04d}.jpg", np.asarray(small, np.uint8)


def write_archive(out: Path, pictures: Iterable[tuple[str, Image]]) -> int:
    """Write pictures as JPEG files into an archive; return how many."""
    count = 0
    partial = out.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as archive:
        for name, image in pictures:
            archive.writestr(name, cv2.imencode(".jpg", image)[1].tobytes())
            count += 1
    partial.replace(out)
    return count


def pins_folders(folder: Path) -> dict[str, Path]:
    """Return the folder of each person, by name with underscores, as in LFW."""
    return {
        path.name.removeprefix("pins_").title().replace(" ", "_"): path
        for path in sorted(folder.glob("pins_*"))
    }


def _read(path: Path) -> Image:
    image = cv2.imread(str(path))
    if image is None:
        raise SystemExit(f"{path} cannot be read as a picture")
    return np.asarray(image, np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("downloads", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    for name in (LFW, YTF, PINS):
        if not (given.downloads / name).is_dir():
            parser.error(f"there is no {given.downloads / name} (docs/research/data.md)")
    given.out.mkdir(parents=True, exist_ok=True)
    ytf_folder, all_pins = given.downloads / YTF, pins_folders(given.downloads / PINS)
    ytf = draw((path.name for path in ytf_folder.iterdir() if path.is_dir()), YTF_PEOPLE)
    pins = {name: all_pins[name] for name in draw(all_pins, PINS_PEOPLE)}
    lfw = sorted(path.name for path in (given.downloads / LFW).iterdir() if path.is_dir())
    for part, people in split_lfw(lfw, [*ytf, *pins]).items():
        (given.out / f"lfw_{part}_ids.txt").write_text("\n".join(people) + "\n", "utf-8")
    (given.out / "ytf_test_ids.txt").write_text("\n".join(ytf) + "\n", "utf-8")
    for name, pictures in (
        ("lfw", lfw_pictures(given.downloads / LFW)),
        ("ytf", ytf_pictures(ytf_folder, ytf)),
        ("pins", pins_pictures(pins)),
    ):
        print(f"{name}.zip: {write_archive(given.out / f'{name}.zip', pictures):,} pictures")


if __name__ == "__main__":
    main()
