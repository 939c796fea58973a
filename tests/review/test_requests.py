"""Requests that are wrong in a hundred thousand places are refused at the first."""

from __future__ import annotations

import json
import socket

import pytest
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from castlist.library.app import library_app
from castlist.library.library import Library
from castlist.library.open_casts import OpenCasts
from castlist.review.app import cast_app
from robustness.review_server import Server

MANY = 100_000
JUNK = (
    [0] * MANY,
    [None] * MANY,
    [""] * MANY,
    [[0] * MANY] * 20,
    [[]] * MANY,
    [{}] * MANY,
    [[[0]]] * MANY,
)


def bodies(app):
    """Return the types of the bodies of all requests of an application."""
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    return {
        param.field_info.annotation.__name__: param.field_info.annotation
        for route in routes
        for param in route.dependant.body_params
    }


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    library = Library(folder, state=folder)
    try:
        return bodies(cast_app(None)) | bodies(library_app(library, OpenCasts(library)))
    finally:
        library.close()


def test_no_body_collects_more_mistakes_than_it_has_fields(every):
    assert every.keys() >= {"Action", "ExportRequest", "ScanRequest", "QueueRequest", "JoinRequest"}
    for name, kind in every.items():
        fields = kind.model_fields
        wrong = [{field: junk} for field in fields for junk in JUNK]
        wrong += [{f"x{k}": 0 for k in range(MANY)}, [0] * MANY, {"\udc80": 0}]
        for field in ("answers", "options"):  # bodies inside of bodies
            if field in fields:
                for inner in (*wrong, {f"x{k}": 0 for k in range(MANY)}):
                    wrong = [*wrong, {field: inner}, {field: [inner] * 50}]
        for body in wrong:
            with pytest.raises(ValidationError) as refused:
                TypeAdapter(kind).validate_python(body)
            assert refused.value.error_count() <= 2 * len(fields), (name, str(body)[:100])


@pytest.fixture(scope="module")
def server(home):
    with Server(home) as running:
        yield running


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "merge", "after": 0, "tracks": [1] * 300_000},
        {"kind": "answer", "after": 0, "same": [[1] * 300_000]},
        {f"field{k}": 1 for k in range(60_000)},
        {"kind": "move", "after": 0, "tracks": ["no such track"] * 60_000},
        b"[" * 900_000,
        b'{"kind": ' * 100_000,
        b'{"after": 1' + b"0" * 900_000 + b"}",
    ],
    ids=["items", "inner items", "fields", "unknown tracks", "lists", "objects", "digits"],
)
def test_a_large_wrong_request_is_refused_in_a_few_words(server, body):
    assert 5e5 < len(body if isinstance(body, bytes) else json.dumps(body)) < 2e6
    status, _, content = server.ask("/api/actions", body)
    assert status in (400, 409, 422)
    assert len(content) < 1000
    assert server.get("/api/last")["last"] == 0


def test_a_body_that_is_too_large_is_not_read(server):
    host, port = server.base.removeprefix("http://").split(":")
    head = (
        f"POST /api/actions HTTP/1.1\r\nHost: {host}:{port}\r\nX-Castlist-Token: {server.token}\r\n"
    )
    for length, status in (
        ("Content-Length: 100000000", b"413"), ("Transfer-Encoding: chunked", b"411")
    ):  # fmt: skip
        with socket.create_connection((host, int(port)), 60) as asking:
            asking.sendall(f"{head}Content-Type: application/json\r\n{length}\r\n\r\n".encode())
            assert asking.recv(12).split()[1] == status
    assert server.get("/api/last")["last"] == 0
