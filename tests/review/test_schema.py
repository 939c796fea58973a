"""Requests drawn from /openapi.json, valid and invalid (schemathesis)."""

from __future__ import annotations

import json
from collections import Counter
from zlib import crc32

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from castlist.cast.corrections import Corrections
from castlist.review.app import cast_app
from robustness.review_server import Server

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_schema_conformance,
]  # fmt: skip
#: As the server that is asked describes itself.
DESCRIPTION = cast_app(None).openapi()


def cases(most, *, corners=True, right_token=True):
    """Make a test of every route with drawn values and with limits."""
    schema = schemathesis.openapi.from_dict(DESCRIPTION)
    schema.config.generation.update(with_security_parameters=not right_token)
    schema.config.phases.coverage.enabled = corners
    schema.config.phases.coverage.unexpected_methods = {"PATCH"} if most > 100 else set()
    drawn = settings(
        max_examples=most, deadline=None, derandomize=most < 100, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate],
    )  # fmt: skip
    return lambda test: schema.parametrize()(drawn(test))


@pytest.fixture(scope="module")
def server(home):
    with Server(home) as running:
        assert json.loads(running.ask("/openapi.json")[2]) == DESCRIPTION
        yield running


@pytest.fixture(scope="module")
def session(server):
    with requests.Session() as one:
        yield one


@pytest.fixture(scope="module")
def answers(server, home):
    """Count responses; at the end, check that a new process reads what the server shows."""
    counts = Counter()
    yield counts
    print("\nanswers:", dict(sorted(counts.items())))
    assert counts[200]
    shown = server.get("/api/cast")
    again = Corrections(home)
    assert shown["last"] == again.version
    assert [(one["number"], one["name"], one["n_tracks"]) for one in shown["characters"]] == [
        (one.number, one.name, len(one.tracks)) for one in again.cast.characters
    ]
    again.close()


def of_this_cast(value, key, server):
    """Replace tracks, characters and the last event by ones that exist."""
    if isinstance(value, dict):
        return {name: of_this_cast(inner, name, server) for name, inner in value.items()}
    if isinstance(value, list):
        return [of_this_cast(inner, key, server) for inner in value]
    if key in ("tracks", "same", "different", "instead") and isinstance(value, str):
        return f"{crc32(value.encode('utf-8', 'replace')) % 20:04d}"
    if key in ("characters", "to") and isinstance(value, int):
        return 1 + value % 4
    if key == "after":
        return server.get("/api/last")["last"]
    if key == "number":
        return (server.get("/api/recluster")["proposal"] or {"number": 1})["number"]
    return value


def responses_match_the_schema(case, server, session, answers):
    headers = {"X-Castlist-Token": server.token}
    answer = case.call(server.base, session=session, headers=headers)
    answers[answer.status_code] += 1
    case.validate_response(answer, checks=[*CHECKS, negative_data_rejection])
    if isinstance(case.body, dict):  # as it is, hardly anything gets past the door
        case.body = of_this_cast(case.body, "", server)
        answer = case.call(server.base, session=session, headers=headers)
        answers[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)


def nothing_changes_without_the_token(case, server, session, home):
    before = files_of(home)
    for wrong in ({}, {"X-Castlist-Token": "x"}, {"Cookie": "castlist=x"}):
        assert case.call(server.base, session=session, headers=wrong).status_code == 403
    assert files_of(home) == before


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@cases(4, corners=False)
def test_responses_match_the_schema(case, server, session, answers):
    responses_match_the_schema(case, server, session, answers)


@cases(2, corners=False, right_token=False)
def test_nothing_changes_without_the_token(case, server, session, home):
    nothing_changes_without_the_token(case, server, session, home)


@pytest.mark.slow
@cases(1000)
def test_many_responses_match_the_schema(case, server, session, answers):
    responses_match_the_schema(case, server, session, answers)


@pytest.mark.slow
@cases(200, right_token=False)
def test_many_requests_change_nothing_without_the_token(case, server, session, home):
    nothing_changes_without_the_token(case, server, session, home)
