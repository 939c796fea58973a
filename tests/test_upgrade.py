"""Files of earlier releases are read, and files of later ones are refused with what to do.

``tests/data/castlist-*.zip`` hold what a release left on disk (``datasets/release_fixture.py``).
They are never changed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from castlist import Corrections, InputError, load_model, read_tracks
from castlist.cluster.tracks import cluster_tracks
from datasets.release_fixture import characters
from tests.programs import castlist

ARCHIVES = sorted((Path(__file__).parent / "data").glob("castlist-*.zip"))
KNOWN = {"castlist-0.1.0.zip": "6f832875a8ccec6866001e0be06a89614ba1ce8484926b08e24b473b272bfa8b"}


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.stem)
def release(request, tmp_path):
    """A folder with the files of a release."""
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def test_the_archives_are_those_of_the_releases():
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in ARCHIVES}
    assert found == KNOWN


def test_a_cast_of_an_earlier_release_is_read_as_it_was(release):
    expected = json.loads((release / "expected.json").read_text("utf-8"))
    assert list(expected) == ["film.cast", "season.cast"]
    for name, cast in expected.items():
        assert characters(release / name) == cast
    assert "Zoë" in [one["name"] for one in expected["film.cast"]]


def test_work_on_a_cast_of_an_earlier_release_goes_on(release):
    film = release / "film.cast"
    assert "Zoë" in castlist("log", film).stdout
    castlist("name", film, "2", "Ann")
    castlist("undo", film)
    castlist("undo", film)  # of a correction that the release made
    castlist("redo", film)
    castlist("redo", film)
    castlist("recluster", film, "--yes")
    castlist("report", film)
    for to in ("csv", "json", "edl"):
        assert castlist("export", film, "--to", to, "-o", "-").stdout
    castlist("merge", release / "season.cast", "3", "4")
    with closing(Corrections(release / "season.cast")) as season:
        assert len(season.cast.characters) == 3


def test_a_model_of_an_earlier_release_groups_tracks(release):
    model = load_model(release / "model.safetensors")
    tracks = read_tracks(release / "season.cast" / "episodes" / "e1" / "tracks.parquet")
    labels = cluster_tracks(tracks, model).labels
    assert len(labels) == len(tracks)
    assert np.isfinite(model.threshold)


NEWER = "written by a newer version of castlist: update castlist"


def test_newer_formats_are_refused(release):
    cast = release / "film.cast"
    text = (cast / "cast.json").read_text("utf-8")
    (cast / "cast.json").write_text(json.dumps({**json.loads(text), "format": 99}), "utf-8")
    said = castlist("name", cast, "1", "Ann", code=2).stderr
    assert f"{cast / 'cast.json'}: format 99" in said
    assert NEWER in said
    (cast / "cast.json").write_text(text, "utf-8")
    with closing(sqlite3.connect(cast / "corrections.db")) as log:
        log.execute("PRAGMA user_version = 99")
    said = castlist("name", cast, "1", "Ann", code=2).stderr
    assert "corrections of format 99" in said
    assert NEWER in said


def test_newer_tracks_and_models_are_refused(release):
    path = release / "film.cast" / "tracks.parquet"
    table = pq.read_table(path)
    about = {**json.loads(table.schema.metadata[b"castlist"]), "format": 99}
    pq.write_table(table.replace_schema_metadata({b"castlist": json.dumps(about)}), path)
    with pytest.raises(InputError, match=NEWER):
        read_tracks(path)
    path = release / "model.safetensors"
    with safe_open(path, "np") as file:
        about = {**json.loads(file.metadata()["castlist"]), "format": 99}
    save_file(load_file(path), path, {"castlist": json.dumps(about)})
    with pytest.raises(InputError, match=NEWER):
        load_model(path)
