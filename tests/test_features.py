from __future__ import annotations

import numpy as np
import pytest

from castlist import CastlistError, Features
from castlist.features import gather


def test_mean_and_scale_equal_numpy_in_float64():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(20_000, 3)) * [1, 1e-3, 5] + [1e3, 0, -7]).astype(np.float32)
    x = np.column_stack([x, np.full(len(x), 3.7, np.float32)])
    mean, scale = Features(x).mean_and_scale()
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scale[:3], x[:, :3].astype(np.float64).std(0), rtol=1e-4)
    assert scale[3] == 1  # a constant dimension is left alone


def test_half_precision_is_read_as_float32():
    features = Features(np.ones((3, 2), np.float16))
    assert features.take([0, 2]).dtype == np.float32
    assert features.dtype == np.float16


def test_selection_composes():
    x = np.arange(20.0, dtype=np.float32).reshape(10, 2)
    chosen = Features(x).select(np.array([9, 3, 5, 3])).select(np.array([3, 0]))
    np.testing.assert_array_equal(np.asarray(chosen), x[[3, 9]])


def test_a_full_disk_is_said_clearly(monkeypatch, tmp_path):
    monkeypatch.setattr("castlist.features.IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    class Full:
        def __enter__(self):
            raise OSError(28, "No space left on device")

        def __exit__(self, *_):
            return False

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Full())
    with pytest.raises(CastlistError, match=r"no room for .*No space left.*TMPDIR"):
        gather(iter([np.ones((2, 2))]), 2, 2, np.dtype(np.float32))
