"""Libraries in folders of their own, with a queue and a cache that no other test sees."""

from __future__ import annotations

import time

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    """Keep the queue and the posters of tests out of the user's folders."""
    monkeypatch.setenv("CASTLIST_STATE", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("CASTLIST_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def eventually():
    """Return a function that waits until a condition is true, and returns its value."""

    def wait(condition, seconds=180):
        until = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < until, "it did not happen"
            time.sleep(0.02)
        return value

    return wait
