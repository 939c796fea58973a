"""What a release states about itself: version, changelog, Python versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from try_dockerfile import instructions

from castlist import __version__, shipped_model

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
VERSIONS = [
    found[1]
    for one in PROJECT["classifiers"]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one))
]
#: Kinds of change of Keep a Changelog 1.1.0.
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_has_this_version_and_the_form_of_keep_a_changelog():
    first, *releases = re.findall(r"^## (.+)$", CHANGELOG, re.M)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in releases)
    assert releases[0].startswith(f"[{__version__}] - ")
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.M)) <= KINDS


def test_classifiers_begin_at_the_version_that_is_required():
    assert PROJECT["requires-python"] == f">={VERSIONS[0]}"
    numbers = [int(version.partition(".")[2]) for version in VERSIONS]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_the_citation_is_of_this_version_and_of_the_paper():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    # What version 1.2.0 of the format requires.
    assert {"cff-version", "message", "title", "authors"} <= found.keys()
    assert found["cff-version"] == "1.2.0"
    assert found["type"] == "software"
    assert found["version"] == __version__
    assert f"[{found['version']}] - {found['date-released']}" in CHANGELOG
    assert found["license"] == PROJECT["license"]
    paper = found["preferred-citation"]
    assert {"type", "title", "authors"} <= paper.keys()
    assert [one["family-names"] for one in paper["authors"]] == ["Tapaswi", "Law", "Fidler"]


def test_every_python_version_that_is_claimed_is_in_the_ci_matrix_on_every_system():
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    matrix = ci["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == VERSIONS
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda p: p.name
)
def test_issue_templates_are_forms(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    if path.name == "config.yml":
        assert isinstance(form["blank_issues_enabled"], bool)
        return
    assert {"name", "description", "body"} <= form.keys()
    ids = [one["id"] for one in form["body"] if one["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    assert all(one["attributes"].get("label") or one["type"] == "markdown" for one in form["body"])


def test_figures_of_the_model_card_are_those_of_the_pages_they_come_from():
    card = (ROOT / "docs" / "research" / "model-card.md").read_text("utf-8")
    models = (ROOT / "docs" / "research" / "models.md").read_text("utf-8")
    clips = re.search(r"\| now: .*? \| (\S+) \| (\S+) \| (.+?) \| (\d+) \| (\S+) %", models)
    for label, value in zip(
        ("NMI", "weighted cluster purity (WCP)", "tracks in the wrong character",
         "excess characters", "repairs per hundred tracks"),
        clips.groups(), strict=True,
    ):  # fmt: skip
        assert f"| {label} | {value} |" in card
    assert "b = 0.2036" in card
    assert "b = 0.2036" in models
    assert f"{shipped_model().b:.4f}" == "0.2036"
    for file in ("yunet_any_size.onnx", "sface_tv.onnx", "sface_tv.safetensors"):
        size = (ROOT / "src" / "castlist" / "models" / file).stat().st_size / 1e6
        assert re.search(rf"`{file}`.*\| {size:.1f} MB \|", card), (file, size)


def test_the_steps_of_the_dockerfile_are_read():
    steps = instructions((ROOT / "Dockerfile").read_text("utf-8"))
    words = [word for word, _ in steps]
    assert words.count("FROM") == 2
    assert words[-2:] == ["ENTRYPOINT", "CMD"]
    (run,) = [rest for word, rest in steps if word == "RUN"]
    assert run.split(" && ")[0].strip() == "python -m venv /opt/castlist"
    (user,) = [rest for word, rest in steps if word == "USER"]
    assert user.partition(":")[0] != "0"
    copied = {path for word, rest in steps if word == "COPY" for path in rest.split()[:-1]}
    for path in copied - {"--from=build", "/opt/castlist"}:
        assert (ROOT / path).exists()
        assert f"!{path}" in (ROOT / ".dockerignore").read_text("utf-8")


def test_ci_runs_all_tests_and_tries_the_wheel():
    steps = re.findall(r"^time make (\S+)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.M)
    assert {"lint", "dist", "docs"} <= set(steps)
    recipes = dict(
        re.findall(r"^(\S+):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    )
    started = [line for step in steps for line in recipes[step].splitlines() if "pytest" in line]
    chosen = [line.partition("-m pytest -n 2 --dist loadfile")[2].strip() for line in started]
    assert chosen == ["", "-m slow"]  # no file is left out: what is not slow, and what is


def test_the_workflow_runs_all_checks_and_limits_their_time():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    (job,) = [job for job in workflow["jobs"].values() if {"run": ".ci/run"} in job["steps"]]
    assert job["timeout-minutes"] == 75
