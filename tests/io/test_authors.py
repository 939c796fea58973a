from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from castlist import InputError, read_tracks
from castlist.io.authors import read_facetracks, read_ids, series_of

NAMES = {"7": "sheldon", "11": "unknown_1", "14": "leonard"}


def facetracks(path, counts, **change):
    names = ("x", "y", "w", "h", "frames", "timestamps")
    records = np.empty(len(counts), [(name, object) for name in (*names, "trackerId")])
    for i, (track, n) in enumerate(counts.items()):
        column = (np.arange(n) + 10 * i)[:, None].astype(np.uint16)
        records[i] = tuple([column] * 6 + [np.uint16(int(track))])
    savemat(path, {"FaceTracks": records[None]})


@pytest.fixture
def folder(tmp_path):
    """Two short episodes in the authors' layout."""
    rng = np.random.default_rng(0)
    for part in ("ids", "tracks"):
        (tmp_path / part).mkdir()
    for video in ("bbt_s01e01", "buffy_s05e01"):
        lines = ["CVHCI_TRACKLABELS_V1", *(f"{t} {name}" for t, name in NAMES.items()), ""]
        (tmp_path / "ids" / f"{video}.ids").write_text("\n".join(lines))
        (tmp_path / "features" / video).mkdir(parents=True)
        counts = {track: 2 + i for i, track in enumerate(NAMES)}
        for track, n in counts.items():
            np.save(tmp_path / "features" / video / f"{track}.npy", rng.normal(size=(n, 4)))
        facetracks(tmp_path / "tracks" / f"{video}.facetracks.mat", {**counts, "99": 3})
    return tmp_path


def test_the_layout_is_read(folder):
    tracks = read_tracks(folder)
    assert tracks.videos == ("bbt_s01e01", "buffy_s05e01")
    assert tracks.ids.tolist() == [*NAMES, *NAMES]  # 99 has no label and is left out
    assert tracks.face_counts.tolist() == [2, 3, 4] * 2
    assert tracks.identity[:3].tolist() == ["sheldon", "unknown_1@bbt", "leonard"]
    assert tracks.identity[4] == "unknown_1@buffy"  # numbered anew in each series
    eleven = np.load(folder / "features" / "buffy_s05e01" / "11.npy")
    np.testing.assert_allclose(tracks.mean_features()[4], eleven.mean(0), rtol=1e-5)
    assert tracks.frame[:5].tolist() == [0, 1, 10, 11, 12]
    np.testing.assert_array_equal(tracks.box[2], [10, 10, 10, 10])


def test_either_half_is_enough(folder):
    alone = read_tracks(folder, boxes=False)
    assert (alone.frame == -1).all()
    assert alone.features.dim == 4
    for path in (folder / "features").rglob("*.npy"):
        path.unlink()
    for path in [*(folder / "features").iterdir(), folder / "features"]:
        path.rmdir()
    assert read_tracks(folder).features is None
    with pytest.raises(InputError, match="neither features/bbt_s01e01"):
        read_tracks(folder, boxes=False)


def test_bad_folders_are_refused_naming_file_and_track(folder):
    features = folder / "features" / "bbt_s01e01"
    ids = folder / "ids" / "bbt_s01e01.ids"

    def refused(message):
        with pytest.raises(InputError, match=message):
            read_tracks(folder)

    original = np.load(features / "11.npy")
    for bad, message in (
        (np.full((3, 4), np.nan), "11.npy: track '11' has a feature that is not finite"),
        (np.ones((3, 5)), "11.npy: track '11' has 5 dims, track '7' has 4"),
        (np.ones((0, 4)), "11.npy: track '11' must be .* at least one face"),
        (np.ones((2, 4)), "11.npy has 2 faces, .*facetracks.mat has 3"),
        (np.array([["a"] * 4] * 3), "11.npy: track '11' must be faces × dims of floats"),
        (np.array([object()]), r"11.npy: not a whole .npy file"),  # pickled: never loaded
    ):
        np.save(features / "11.npy", bad)
        refused(message)
    np.save(features / "11.npy", original)
    whole = (features / "11.npy").read_bytes()
    (features / "11.npy").write_bytes(whole[:-8])
    refused(r"11.npy: not a whole .npy file")
    (features / "11.npy").unlink()
    refused("11.npy: missing, though track '11' has a label")
    np.save(features / "11.npy", original)

    text = ids.read_text()
    for bad, message in (
        (text + "55 raj\n", "55"),
        (text + "7 raj\n", r"bbt_s01e01.ids:5: track '7' is labelled twice"),
        (text + "8 raj koothrappali\n", r"ids:5: expected 'track name'"),
        ("7 sheldon\n", "first line must be CVHCI_TRACKLABELS"),
    ):
        ids.write_text(bad)
        refused(message)
    ids.write_text(text)
    (folder / "features" / "bbt_s01e01" / "55.npy").write_bytes(b"")
    mat = folder / "tracks" / "bbt_s01e01.facetracks.mat"
    facetracks(mat, {"7": 2, "14": 4})
    refused("track '11' is not in .*bbt_s01e01.facetracks.mat")
    mat.write_bytes(mat.read_bytes()[:200])
    refused(r"not a whole facetracks.mat")


def test_series_of():
    assert series_of("buffy_s05e01") == "buffy"
    assert series_of("some_film") is None


def test_ids_that_are_not_text(tmp_path):
    (tmp_path / "x.ids").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        read_ids(tmp_path / "x.ids")


def test_the_papers_episodes(authors):
    tracks = read_tracks(authors)
    assert len(tracks) == 9740
    pairs = [len(tracks[tracks.video == v].overlaps()) for v in range(12)]
    assert (min(pairs), max(pairs)) == (178, 990)
    widths = tracks[tracks.video < 6].box[:, 2]
    np.testing.assert_allclose(np.percentile(widths, [10, 50, 90]), [38, 90, 124], rtol=0.06)


def test_an_episode_without_labels_is_empty(folder):
    (folder / "ids" / "bbt_s01e02.ids").write_text("CVHCI_TRACKLABELS_V1\n")
    (folder / "features" / "bbt_s01e02").mkdir()
    assert len(read_tracks(folder)) == 6


def test_tracks_of_strange_names_are_no_files(tmp_path):
    for name in ("../7", "/etc/passwd", "a\\b", "x" * 999):
        (tmp_path / "v.ids").write_text(f"CVHCI_TRACKLABELS_V1\n{name} ann\n")
        with pytest.raises(InputError, match="v.ids:2: .* is not a valid name of a track"):
            read_ids(tmp_path / "v.ids")


def test_matlab_files_compressed_or_not(tmp_path):
    path = tmp_path / "v.facetracks.mat"
    facetracks(path, {"7": 3, "11": 300})
    plain = read_facetracks(path)
    assert plain["11"]["frame"].tolist() == list(range(10, 310))
    records = loadmat(path)["FaceTracks"]
    savemat(path, {"Other": np.eye(3), "FaceTracks": records}, do_compression=True)
    packed = read_facetracks(path)
    for track, columns in plain.items():
        for name, values in columns.items():
            np.testing.assert_array_equal(packed[track][name], values)


def test_matlab_arrays_of_another_class_are_not_loaded(tmp_path):
    path = tmp_path / "v.facetracks.mat"
    facetracks(path, {"7": 3})
    whole = path.read_bytes()
    # The class of the array: SciPy 1.17 takes a struct for an object or a function, and crashes.
    flags = whole.index(b"\x06\x00\x00\x00\x08\x00\x00\x00\x02") + 8
    for kind in range(256):
        path.write_bytes(whole[:flags] + bytes([kind]) + whole[flags + 1 :])
        if kind != 2:
            with pytest.raises(InputError, match="not a whole facetracks.mat"):
                read_facetracks(path)


def test_large_matlab_files_are_refused(tmp_path):
    path = tmp_path / "v.facetracks.mat"
    facetracks(path, {"7": 3})
    os.truncate(path, 2**24)
    with pytest.raises(InputError, match="16,777,216 bytes; the limit for such a file is 8,388"):
        read_facetracks(path)
