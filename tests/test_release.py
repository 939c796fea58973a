"""What a release states about itself: version, changelog, Python versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from castlist import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
#: Kinds of change of Keep a Changelog 1.1.0.
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_has_this_version_and_the_form_of_keep_a_changelog():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, *releases = re.findall(r"^## (.+)$", text, re.M)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in releases)
    assert releases[0].startswith(f"[{__version__}] - ")
    assert set(re.findall(r"^### (.+)$", text, re.M)) <= KINDS


def test_classifiers_begin_at_the_version_that_is_required():
    versions = [
        found[1]
        for one in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one))
    ]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    numbers = [int(version.partition(".")[2]) for version in versions]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
