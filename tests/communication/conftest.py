"""What tests of programs on meshes share."""
import numpy as np
import pytest

from reactant.communication import emission


@pytest.fixture
def poison(monkeypatch):
    """What nobody may look at would be seen."""
    monkeypatch.setattr(emission, "anything", lambda dtype: {"f": np.nan, "c": np.nan, "b": True}.get(dtype.kind, 77))
