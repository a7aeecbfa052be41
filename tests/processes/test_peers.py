import jax
import pytest

import reactant
from reactant.processes import joining, peers


def test_one_process_is_a_cluster_of_one():
    here = reactant.cluster()
    assert here is reactant.cluster() and here.is_first
    assert (here.index, here.count, here.devices, here.by) == (0, 1, (jax.device_count(),), "nobody")
    assert str(here).startswith("1 process, ") and "this one" in str(here)
    assert repr(here) == "<Cluster: process 0 of 1, told by nobody>"
    here.check()


@pytest.fixture
def alone(monkeypatch):
    monkeypatch.setattr(peers, "_joined", [])


@pytest.mark.parametrize("arguments, message", [
    ({"address": "localhost:1234"}, "how many processes there are"),
    ({"address": "localhost:1234", "processes": 2, "index": 0}, "before anything that makes arrays"),
    ({"prints": "some"}, "\"first\" or \"all\"")])
def test_mistakes(alone, arguments, message):
    jax.devices()       # it has started
    with pytest.raises(reactant.ClusterError, match=message):
        reactant.cluster(**arguments)


SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "node[3-5]", "SLURM_NTASKS": "3", "SLURM_PROCID": "2",
         "SLURM_LOCALID": "1"}
OPEN_MPI = {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", "OMPI_COMM_WORLD_SIZE": "4",
            "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}


@pytest.mark.parametrize("variables, host, count, rank, devices", [
    (SLURM, "node3", 3, 2, (1,)), (OPEN_MPI, "10.96.0.1", 4, 3, (0,))])
def test_what_schedulers_tell(monkeypatch, variables, host, count, rank, devices):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = joining.told(None, None, None, None)
    assert (found.address.rpartition(":")[0], found.count, found.rank, found.devices) == (host, count, rank, devices)
    assert found.by == "the environment"


def test_a_task_of_one_process_joins_nobody(monkeypatch):
    for name, value in {**SLURM, "SLURM_NTASKS": "1", "SLURM_PROCID": "0"}.items():
        monkeypatch.setenv(name, value)
    assert joining.told(None, None, None, None) is None


def test_what_the_supervisor_tells_is_read_once(monkeypatch):
    told = joining.Told("reactant launch", "127.0.0.1:99", 4, 2, (2,), 7, 30.0, "/saved", 1)
    monkeypatch.setenv(joining.TOLD, told.as_text())
    assert joining.told(None, None, None, None) == told
    assert joining.told(None, None, None, None) is None
