"""The list of devices."""
from __future__ import annotations

import jax
import pytest

from reactant.runtime.devices import default_device, devices


def test_devices():
    found = devices()
    assert [device.jax for device in found] == jax.devices()
    assert found[0].is_default and default_device() == found[0]
    assert str(devices("cpu")[0]) == "cpu:0"
    assert repr(devices("cpu")[0]).startswith("<cpu:0 cpu")


def test_a_platform_that_is_not_there():
    with pytest.raises(ValueError, match="There is no 'abacus' device here; there are: .*cpu"):
        devices("abacus")
