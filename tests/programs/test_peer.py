"""The peer's process of the benchmarks: iterations, costs, and what is left when it dies; an optimiser that does
nothing stands in for it."""
import sys

import pytest
from peer import Peer, PeerError, beside

STAND_IN = """
import os, time

def full_optimization_pass_pipeline():
    return ""

def JaXPipeline(passes):
    return passes

def enzyme_jax_ir(pipeline_options):
    def change(function):
        if function.__name__ == "embedding":
            print("an assertion error of C++", file=__import__("sys").stderr, flush=True)
            os.abort()
        if function.__name__ == "perceptron":
            time.sleep(1000)
        if function.__name__ == "quantiles":
            raise ValueError("no rule for sort")
        return function
    return change
"""


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peer")
    (folder / "enzyme_ad").mkdir()
    (folder / "enzyme_ad" / "__init__.py").write_text("")
    (folder / "enzyme_ad" / "jax.py").write_text(STAND_IN)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    with Peer(str(python)) as made:
        yield made


def test_iterations_and_costs(peer):
    answers, seconds = beside(peer, "normalised_by_map", 0.05, {"value": "primal", "gradient": "own derivative"},
                              {"ours": lambda: sum(range(50_000))}, 2, "cpu")
    assert set(seconds) == {"ours", "value", "gradient"} and all(s > 0 for s in seconds.values())
    assert answers["value"]["difference"] == 0 == answers["gradient"]["difference"]
    assert 0 < answers["value"]["flops"] < answers["gradient"]["flops"]


def test_what_cannot_be_compiled_is_said(peer):
    with pytest.raises(PeerError, match="ValueError: no rule for sort"):
        peer.load("quantiles", 0.05, "primal")


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(peer):
    answers, seconds = beside(peer, "embedding", 0.05, {"value": "primal"}, {"ours": lambda: 0}, 1)
    assert answers == {"value": {"error": "ended by SIGABRT: an assertion error of C++"}} and set(seconds) == {"ours"}
    assert peer.load("normalised_by_map", 0.05, "primal")["difference"] == 0


@pytest.mark.slow
def test_no_answer_in_time(peer):
    peer.load("normalised_by_map", 0.05, "primal")
    peer.patience = 2
    with pytest.raises(PeerError, match="no answer within 2 seconds"):
        peer.load("perceptron", 0.05, "primal")
