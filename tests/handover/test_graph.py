from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from castlist.format import lasting
from castlist.handover.graph import cast_graph, graphml_lines, svg_lines
from tests.export.casts import AWKWARD, made_cast


@pytest.fixture
def graph(tmp_path):
    cast = made_cast(tmp_path, spans=[(0, 3.8, 0), (2, 5.8, 1), (8, 9.8, 1), (20, 20.8, 2)])
    cast.name(cast.cast.characters[0].number, AWKWARD)
    return cast_graph(cast)


def test_seconds_are_shared_while_both_are_seen(graph):
    assert sorted(graph.seconds) == pytest.approx([1, 4, 6])
    ((pair, seconds),) = graph.shared.items()
    assert seconds == pytest.approx(2)
    assert sorted(np.array(graph.seconds)[list(pair)]) == pytest.approx([4, 6])


def test_graphml_is_read_by_its_schema_of_keys(graph):
    root = ET.fromstring("".join(graphml_lines(graph)))
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    nodes = root.findall(".//g:node", space)
    labels = [one.find("g:data[@key='label']", space).text for one in nodes]
    assert labels == graph.labels
    assert AWKWARD in labels
    (edge,) = root.findall(".//g:edge", space)
    ids = [one.get("id") for one in nodes]
    assert {edge.get("source"), edge.get("target")} <= set(ids)
    assert float(edge.find("g:data", space).text) == pytest.approx(2)


def test_the_picture_is_an_svg_with_everybody(graph):
    root = ET.fromstring("".join(svg_lines(graph)))
    space = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in root.iter(f"{space}text")]
    assert texts[:6:2] == graph.labels
    assert texts[1:6:2] == [lasting(seconds) for seconds in graph.seconds]
    assert texts[6:] == ["0:02"]  # what the pair shares
    assert len(list(root.iter(f"{space}line"))) == 1
    assert len(list(ET.fromstring("".join(svg_lines(graph, most=1))).iter(f"{space}line"))) == 0
