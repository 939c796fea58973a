from __future__ import annotations

import sys
import zipfile

import cv2
import numpy as np
import pytest

from datasets import prepare_faces
from datasets.prepare_faces import split_lfw
from datasets.small_videos import plain


def write_picture(path, size):
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), plain((40, 90, 160), size))


def prepare(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["prepare_faces.py", *map(str, words)])
    prepare_faces.main()


def test_archives_and_lists_are_made_from_the_published_folders(tmp_path, monkeypatch):
    downloads, out = tmp_path / "downloads", tmp_path / "faces"
    for person in ("Ann_A", "Bob_B", "Cy_C"):
        write_picture(downloads / "lfw" / person / f"{person}_0001.jpg", (250, 250))
    lines = [f"Bob_B\\3\\3.{k}.jpg,0,100,80,40,60,0,0" for k in range(12)]
    for k in range(12):
        write_picture(downloads / "frame_images_DB" / "Bob_B" / "3" / f"3.{k}.jpg", (320, 240))
    (downloads / "frame_images_DB" / "Bob_B.labeled_faces.txt").write_text("\n".join(lines))
    write_picture(downloads / "105_classes_pins_dataset" / "pins_cy c" / "cy1.jpg", (400, 300))
    prepare(monkeypatch, downloads, out)
    shapes = {}
    for name in ("lfw", "ytf", "pins"):
        with zipfile.ZipFile(out / f"{name}.zip") as archive:
            for file in archive.namelist():
                data = np.frombuffer(archive.read(file), np.uint8)
                shapes[file] = cv2.imdecode(data, cv2.IMREAD_COLOR).shape[:2]
    assert shapes == {
        **{f"lfw/{who}/{who}_0001.jpg": (190, 190) for who in ("Ann_A", "Bob_B", "Cy_C")},
        **{f"ytf/Bob_B/3/{k}.jpg": (120, 80) for k in range(5)},
        "pins/Cy_C/0000.jpg": (144, 192),
    }
    assert (out / "lfw_excluded_ids.txt").read_text().split() == ["Bob_B", "Cy_C"]
    assert (out / "lfw_train_ids.txt").read_text().split() == ["Ann_A"]
    assert (out / "ytf_test_ids.txt").read_text().split() == ["Bob_B"]


def test_people_of_lfw_are_in_one_list_each_and_always_the_same():
    people = [f"P_{k}" for k in range(100)]
    parts = split_lfw(people, ["P_3", "Q_1"])
    assert sorted(who for part in parts.values() for who in part) == sorted(people)
    assert parts["excluded"] == ["P_3"]
    assert len(parts["val"]) == 15
    assert split_lfw(people[::-1], ["P_3"])["val"] == parts["val"]


def test_a_missing_download_is_named(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        prepare(monkeypatch, tmp_path, tmp_path / "out")
    assert "there is no" in capsys.readouterr().err
