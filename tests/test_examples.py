"""Python, SQL and commands that the documentation shows work as they stand there."""

from __future__ import annotations

import doctest
import inspect
import re
import shlex
import shutil
from itertools import combinations
from pathlib import Path

import duckdb
import pandas
import pytest

import castlist
from castlist.cli.app import COMMANDS
from castlist.handover.scenes import find_scenes
from castlist.research.commands import COMMANDS as RESEARCH
from datasets.demo_video import compose_demo
from datasets.synthetic_casts import made_video, write_folder
from tests.programs import castlist as run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def execute(page: str, **names: object) -> dict[str, object]:
    """Run the one example of a page; return its variables."""
    (source,) = blocks(page, "python")
    exec(compile(source, page, "exec"), names)
    return names


@pytest.fixture(scope="module")
def scanned(pictures, tmp_path_factory):
    """A folder with a video, in which the example of README.md was run."""
    folder = tmp_path_factory.mktemp("examples")
    compose_demo(pictures, folder / "episode.mp4", (320, 180), 5, 2.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert len(execute("README.md")["result"].cast.characters) == 4
    return folder


@pytest.fixture
def here(scanned, tmp_path, monkeypatch):
    """A copy of that folder, and this process in it."""
    monkeypatch.chdir(shutil.copytree(scanned, tmp_path / "here"))


def test_no_other_page_has_python_that_is_not_executed():
    found = {
        page.relative_to(ROOT).as_posix()
        for page in PAGES
        if blocks(str(page), "python") and page.name != "api.md"  # tests/test_docs.py
    }
    assert found == {
        "README.md", "docs/development/files.md", "docs/development/scale.md",
        "docs/user-guide/corrections.md", "docs/user-guide/export.md",
        "docs/user-guide/hand-over.md",
    }  # fmt: skip


@pytest.mark.usefixtures("here")
def test_tracks_in_pandas_and_duckdb():
    shutil.copy("episode.cast/tracks.parquet", "episode.parquet")
    execute("docs/development/files.md", pandas=pandas)
    (query,) = blocks("docs/development/files.md", "sql")
    rows = duckdb.sql(query).fetchall()
    assert len(rows) == len(castlist.read_tracks("episode.parquet"))


@pytest.mark.usefixtures("here")
def test_corrections():
    execute("docs/user-guide/corrections.md")
    with castlist.Corrections("episode.cast") as cast:
        assert "Anna" in [one.title for one in cast.cast.characters]


def test_corrections_of_the_docstring(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_folder(tmp_path / "episode.cast", made_video(8))
    source = doctest.script_from_examples(castlist.Corrections.__doc__)
    exec(source, {"Corrections": castlist.Corrections})
    with castlist.Corrections(folder) as cast:
        assert [one.title for one in cast.cast.characters].count("Anna") == 1


@pytest.mark.usefixtures("here")
def test_an_exported_timeline(capsys):
    opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14
    run("export", "episode.cast", "--to", "otio")
    markers = execute("docs/user-guide/export.md", opentimelineio=opentimelineio)["clip"].markers
    assert len(capsys.readouterr().out.splitlines()) == len(markers) > 0


@pytest.mark.usefixtures("here")
def test_hand_over():
    Path("episode.mp4").rename("s01e02.mp4")
    run("scan", "s01e02.mp4")
    Path("s01e02.cast").rename("season1.cast")
    with castlist.Corrections("season1.cast") as cast:
        numbers = [one.number for one in cast.cast.characters]
        pair = next(two for two in combinations(numbers, 2) if find_scenes(cast, two, "together"))
        for who, name in zip(pair, ("Anna", "Ben"), strict=True):
            cast.name(who, name)
    Path("talk.rttm").write_text("SPEAKER s01e02 1 0.0 2.0 <NA> <NA> A <NA> <NA>\n")
    done = execute("docs/user-guide/hand-over.md")
    assert done["scenes"]
    assert Path("both.mp4").stat().st_size > 0
    assert Path("out.mp4").stat().st_size > 0


def test_clustering_on_a_ray_cluster_is_called_as_it_is_declared(monkeypatch):
    """There is no cluster here; tests/cluster runs one."""
    signature = inspect.signature(castlist.ray_linkage)
    linked = castlist.complete_linkage([[0.0], [0.1]], 1.0)
    monkeypatch.setattr(castlist, "ray_linkage", lambda *a, **k: signature.bind(*a, **k) and linked)
    names = execute("docs/development/scale.md", points=None, threshold=1.0, pairs=None)
    assert list(names["labels"]) == [0, 0]


def commands() -> list[tuple[str, str]]:
    """Return the commands of castlist in the documentation: page and line."""
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        lines = [line for block in blocks(str(page), "sh") for line in joined(block)]
        lines += re.findall(r"`(castlist [^`]+)`", text)
        found += [(page.name, line) for line in lines if line.startswith("castlist ")]
    return found


def joined(block: str) -> list[str]:
    return block.replace("\\\n", " ").splitlines()


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_and_their_options_exist(page, line):
    words = shlex.split(line, comments=True)[1:]
    if not words or words[0].startswith("-"):
        return
    commands = COMMANDS
    if words[0] == "research" and words[1:]:
        commands, words = RESEARCH, words[1:]
    assert words[0] in commands.table, f"{page}: {line}"
    command = commands.load(words[0])
    if words[0] == "models":
        command = command.commands.get((words[1:2] or [""])[0], command)
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    used = {word.partition("=")[0] for word in words[1:] if word.startswith("--")}
    assert used <= {*known, "--help"}, f"{page}: {line}"
