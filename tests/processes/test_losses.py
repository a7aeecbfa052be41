import pytest

from reactant.processes.losses import DIED, ENDED, Known, Loss, of_communication


def test_the_first_loss_stays():
    known = Known()
    assert known.wait(0.0) is None
    first = Loss(1, 4, "far", DIED, "was killed by SIGKILL")
    known.hear(first)
    known.hear(Loss(2, 4, "near", ENDED, "ended"))
    assert known.wait(0.0) == first and not known.told
    error = known.error()
    assert (error.fact, error.rank, error.host) == ("Process 1 of 4 (far) was killed by SIGKILL.", 1, "far")
    assert known.told


def test_losses_travel_as_json_and_say_what_to_do():
    loss = Loss(2, 4, "near", ENDED, "ended while others were still at work")
    assert Loss(**loss.told()) == loss
    assert str(loss).endswith("All processes have to run the same programs.")


@pytest.mark.parametrize("text, may", [
    ("UNKNOWN: Gloo all-reduce failed: Connection reset by peer", True), ("NCCL operation failed", True),
    ("DEADLINE_EXCEEDED: Barrier timed out", True), ("shapes (3,) and (4,) do not match", False),
    ("RESOURCE_EXHAUSTED: Out of memory", False)])
def test_errors_of_communication(text, may):
    assert of_communication(RuntimeError(text)) == may
