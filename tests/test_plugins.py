"""The example packages of docs/plugins, installed by pip and used by the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from castlist import CastlistError, open_describer, read_tracks
from castlist.plugins import plugins, version_of
from datasets.small_videos import plain, write_video
from datasets.synthetic_casts import made_video, write_folder
from tests.programs import castlist

DOCS = Path(__file__).parents[1] / "docs" / "plugins"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the three example packages, installed without network."""
    folder = tmp_path_factory.mktemp("plugins")
    sources = shutil.copytree(DOCS, folder / "sources")  # a build writes beside the source
    packages = [str(path.parent) for path in sources.rglob("pyproject.toml")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    pip += ["--no-build-isolation", "--disable-pip-version-check", "--target", folder / "site"]
    subprocess.run([*pip, *packages], check=True, stdin=subprocess.DEVNULL)
    return folder / "site"


@pytest.fixture
def installed(site, monkeypatch):
    """Make this process find the example packages."""
    monkeypatch.syspath_prepend(site)


@pytest.mark.usefixtures("installed")
def test_an_export_of_a_plugin(tmp_path):
    cast = write_folder(tmp_path / "film.cast", made_video())
    castlist("name", cast, "1", "Anna | <b>")
    done = castlist("export", cast, "--to", "markdown", "-o", "-").stdout.splitlines()
    assert done[0] == "| video | character | seconds | appearances |"
    assert len(done) == 2 + 4
    assert "Anna \\| &lt;b&gt;" in done[2]
    castlist("export", cast, "--to", "markdown", "-o", tmp_path)
    assert (tmp_path / "film.cast.md").read_text("utf-8").splitlines() == done
    refused = castlist("export", cast, "--to", "xls", code=2)
    assert "choose one of csv, json" in refused.stderr
    assert "xmp, markdown\n" in refused.stderr


@pytest.mark.usefixtures("installed")
def test_a_detector_of_a_plugin(portraits, tmp_path):
    film = portraits / "guido.mp4"  # one face, about half as wide as the image
    (found,) = json.loads(
        castlist("scan", film, "-o", tmp_path, "--detector", "large-faces", "--json").stdout
    )
    assert len(found["characters"]) == 1
    run = json.loads((tmp_path / "guido.cast" / "run.json").read_text("utf-8"))
    assert run["settings"]["detector"] == "large-faces"
    refused = castlist("scan", film, "-o", tmp_path, "--detector", "none", code=2)
    assert "unknown detector 'none'; choose from yunet, large-faces" in refused.stderr


@pytest.mark.usefixtures("installed")
def test_a_describer_of_a_plugin(pictures, tmp_path):
    for picture in pictures:
        (tmp_path / "faces" / picture.stem).mkdir(parents=True)
        shutil.copy(picture, tmp_path / "faces" / picture.stem)
    out = tmp_path / "faces.parquet"
    words = ("research", "describe", tmp_path / "faces", "-o", out, "--describer", "thumbnail")
    assert "4 tracks of 4 people" in castlist(*words).stdout
    tracks = read_tracks(out)
    assert tracks.describer == "thumbnail"
    assert tracks.mean_features().shape == (4, 256)
    film = write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 9)
    refused = castlist("scan", film, "--describer", "thumbnail", code=2)
    assert "comes with no model for features of thumbnail" in refused.stderr


def broken(folder, group, name, value):
    """Write the metadata of a package with one entry point that leads nowhere."""
    info = folder / "broken-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text(f"[castlist.{group}]\n{name} = {value}\n")


def test_a_plugin_that_cannot_be_imported_stops_only_what_uses_it(tmp_path, monkeypatch):
    broken(tmp_path, "describers", "lost", "no_such_module:thing")
    monkeypatch.syspath_prepend(tmp_path)
    assert version_of("describers", "lost") == "broken 2.0"
    assert open_describer().name == "SFace-TV"
    with pytest.raises(CastlistError, match="lost of broken 2.0 cannot be imported .*no_such"):
        open_describer("lost")
    found = json.loads(castlist("doctor", "--no-speed", "--json").stdout)
    (one,) = found["plugins"]
    assert one["name"] == "lost"
    assert "cannot be imported" in one["problem"]


def test_an_object_of_another_kind_is_refused(tmp_path, monkeypatch):
    broken(tmp_path, "exports", "odd", "os:sep")
    monkeypatch.syspath_prepend(tmp_path)
    cast = write_folder(tmp_path / "film.cast", made_video())
    refused = castlist("export", cast, "--to", "odd", code=2)
    assert "the plugin odd of broken 2.0 does not work" in refused.stderr


def test_a_plugin_cannot_replace_what_is_castlists_own(tmp_path, monkeypatch):
    broken(tmp_path, "describers", "sface-tv", "no_such_module:thing")
    monkeypatch.syspath_prepend(tmp_path)
    assert "sface-tv" in plugins("describers")
    assert open_describer("sface-tv").name == "SFace-TV"
