"""The notebooks of the documentation run from beginning to end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from datasets.demo_video import compose_demo

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_stored_without_output(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    assert path.name in (NOTEBOOKS / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_notebooks_run(pictures, tmp_path):
    for path in NOTEBOOKS.glob("*.ipynb"):  # they write into their folder
        shutil.copy(path, tmp_path)
    film = compose_demo(pictures, tmp_path / "episode.mp4", (320, 180), 5, 2.0)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbmake", "--nbmake-timeout=600", "-q", "-o",
         "addopts=", "-p", "no:cacheprovider", "."],
        env={**os.environ, "CASTLIST_VIDEO": str(film)}, cwd=tmp_path,
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
    assert "Anna" in film.with_suffix(".csv").read_text("utf-8")
