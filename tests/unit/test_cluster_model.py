"""The simulation of large clusters: its tree, what it says in simple cases, and the page that quotes it."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("cluster_model", ROOT / "tools" / "cluster_model.py")
    module = sys.modules["cluster_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("chunks", [1, 2, 7, 64, 65])
@pytest.mark.parametrize("fan_in", [2, 3, 8])
def test_the_tree_takes_every_node_once(model, chunks, fan_in):
    width = chunks
    for level in model.tree(chunks, fan_in):
        assert [child for children in level for child in children] == list(range(width))
        width = len(level)
    assert width == 1


def test_one_worker_sends_nothing_to_others(model):
    result = model.simulate(model.Cluster(1))
    assert result.between == 0
    assert result.to_client == 8 * 100**2


def test_without_scheduler_and_network_a_pass_is_its_lifts(model):
    free = replace(
        model.Cluster(50), scheduler_time=0.0, graph_time=0.0, words=0, latency=0.0, bandwidth=1e30, memory=1e30
    )
    result = model.simulate(free)
    assert result.seconds == pytest.approx(result.lifts)
    assert result.lifts == pytest.approx(4 * 2**27 / 8 * 100 / 2e10)


def test_bytes_and_messages_follow_the_formulas(model):
    cluster = model.Cluster(200)
    result = model.simulate(cluster)
    tasks = 2 * cluster.chunks - 1
    assert result.from_client == tasks * cluster.words
    journeys = (result.between - 199 * 800) / cluster.statistic
    assert 199 <= journeys <= cluster.chunks - 1
    assert 2 * tasks <= result.messages <= 3 * tasks


def test_a_pass_takes_no_less_than_the_scheduler_and_the_lifts(model):
    for workers in (10, 300):
        cluster = model.Cluster(workers)
        result = model.simulate(cluster)
        assert result.seconds > result.lifts
        assert result.seconds > (2 * cluster.chunks - 1) * cluster.scheduler_time


def test_the_page_quotes_the_table(model):
    assert model.table() in (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
