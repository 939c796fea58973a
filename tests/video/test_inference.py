from __future__ import annotations

import threading

import cv2
import numpy as np
import pytest

from castlist import CastlistError, InputError
from castlist.video.detect import YuNet
from castlist.video.inference import BACKEND, BACKENDS, Input, open_network
from castlist.video.weights import fetch
from tests.programs import run_program
from tests.video.test_describe import FACES, write_model


@pytest.fixture(scope="module")
def people(pictures):
    """Photographs with faces, freely licensed."""
    return [cv2.imread(str(path)) for path in pictures]


def detector(monkeypatch, backend):
    monkeypatch.setenv(BACKEND, backend)
    return YuNet(fetch("yunet"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_pictures_become_what_the_network_takes(tmp_path, backend):
    path = write_model(tmp_path / "mean.onnx", "n")
    means = np.stack(FACES).mean((1, 2))
    for takes, expected in (
        (Input(), means),
        (Input(rgb=True), means[:, ::-1]),
        (Input(mean=100.0, scale=50.0), (means - 100) / 50),
    ):
        network = open_network(path, takes, backend=backend)
        assert network.shape == [None, 3, 112, 112]
        (found,) = network(np.stack(FACES))
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_threads_may_open_networks_at_once(tmp_path):
    path = write_model(tmp_path / "mean.onnx", "n")
    # In a process of its own: OpenVINO is imported once.
    code = f"""
from concurrent.futures import ThreadPoolExecutor
from castlist.video.inference import Input, open_network
with ThreadPoolExecutor(8) as pool:
    opened = list(pool.map(lambda _: open_network({str(path)!r}, Input()), range(16)))
assert len(opened) == 16
"""
    run_program("-c", code)


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_share_a_network(tmp_path, backend):
    network = open_network(write_model(tmp_path / "mean.onnx", "n"), Input(), backend=backend)
    faces = np.random.default_rng(1).integers(0, 255, (40, 112, 112, 3), np.uint8)
    found = np.empty((40, 3), np.float32)

    def work(k):
        found[k] = network(faces[k : k + 1])[0][0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(found, faces.mean((1, 2)), rtol=1e-4)


def test_real_faces_are_the_same_to_both_backends(people, monkeypatch):
    """Boxes to a pixel, and features to a cosine of 0.999."""
    from castlist.video.describe import open_describer

    features, boxes = {}, {}
    for backend in BACKENDS:
        finds = detector(monkeypatch, backend)
        describer = open_describer()
        found = [finds.detect(one)[:1] for one in people]
        boxes[backend] = np.concatenate([one.box for one in found])
        crops = [
            describer.crop(image, one.box[0], one.landmarks[0])
            for image, one in zip(people, found, strict=True)
        ]
        features[backend] = describer.describe(crops)
    one, other = (features[backend] for backend in BACKENDS)
    assert (one * other).sum(axis=1).min() > 0.999
    np.testing.assert_allclose(*boxes.values(), atol=1)


def test_the_detector_finds_what_opencv_finds_with_the_same_weights(people, monkeypatch):
    """OpenCV's own decoding of YuNet is the reference; it suppresses by boxes in whole pixels."""
    finds = detector(monkeypatch, "openvino")
    for image in people:
        for width in (640, 317):
            small = cv2.resize(image, (width, width * image.shape[0] // image.shape[1]))
            size = (small.shape[1], small.shape[0])
            reference = cv2.FaceDetectorYN.create(str(fetch("yunet")), "", size, 0.6, 0.3)
            expected = reference.detect(small)[1]
            found = finds.detect(small)
            found = found[found.score >= 0.6]
            np.testing.assert_allclose(found.box, expected[:, :4], atol=0.1)
            np.testing.assert_allclose(found.landmarks.reshape(-1, 10), expected[:, 4:14], atol=0.1)
            np.testing.assert_allclose(found.score, expected[:, 14], atol=1e-3)


def test_a_backend_that_is_not_there(tmp_path, monkeypatch):
    path = write_model(tmp_path / "mean.onnx", 1)
    monkeypatch.setenv(BACKEND, "tensorflow")
    with pytest.raises(
        InputError, match="CASTLIST_BACKEND=tensorflow: unknown backend; choose from openvino"
    ):
        open_network(path, Input())
    monkeypatch.setenv(BACKEND, "onnxruntime")
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(CastlistError, match=r"pip install 'castlist\[onnx\]'"):
        open_network(path, Input())


def test_a_folder_that_cannot_be_written_is_no_cache_and_no_matter(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CASTLIST_CACHE", str(tmp_path / "file" / "cache"))
    network = open_network(write_model(tmp_path / "mean.onnx", 1), Input(), backend="openvino")
    assert network(np.stack(FACES[:1]))[0].shape == (1, 3)
