"""What all programs depend on: each of these changes every key."""
import os

import jax
import numpy as np
import pytest

from reactant.cache import environment

CHANGES = {
    "NumPy": lambda m: m.setattr(np, "__version__", "9.9"),
    "jax": lambda m: m.setattr(jax, "__version__", "9.9"),
    "jaxlib": lambda m: m.setattr(environment.jaxlib, "__version__", "9.9"),
    "Python": lambda m: m.setattr(environment.sys, "version", "9.9"),
    "SciPy or LLVM": lambda m: m.setattr(environment, "_others", lambda: ("another",)),
    "our own files": lambda m: m.setattr(environment, "package", lambda: ("another",)),
    "the processor": lambda m: m.setattr(environment, "machine", lambda: ("another",)),
    "cores": lambda m: m.setattr(environment, "cores", lambda: 99),
    "XLA's flags": lambda m: m.setenv("XLA_FLAGS", "--xla_another"),
    "a variable of ours": lambda m: m.setenv("REACTANT_CALIBRATION", "another"),
}
SETTINGS = {
    "x64": lambda: jax.enable_x64(not jax.config.jax_enable_x64),
    "matrix products": lambda: jax.default_matmul_precision("bfloat16"),
    "what NumPy does at errors": lambda: np.errstate(divide="ignore"),
    "what NumPy prints": lambda: np.printoptions(precision=3),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_the_key(change, monkeypatch):
    before = environment.fingerprint()
    assert environment.fingerprint() == before
    CHANGES[change](monkeypatch)
    assert environment.fingerprint() != before


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_within_a_block_do(setting):
    before = environment.fingerprint()
    with SETTINGS[setting]():
        inside = environment.fingerprint()
    assert inside != before and environment.fingerprint() == before


def test_what_is_measured_on_this_machine_does(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = environment.fingerprint()
    (tmp_path / "reactant").mkdir()
    (tmp_path / "reactant" / "calibration-x.json").write_text("{}")
    assert environment.fingerprint() != before


def test_a_file_of_ours_that_changes(tmp_path):
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "b.py"
    file.write_text("x = 1\n")
    before = list(environment._files(str(tmp_path)))
    assert [name for name, *_ in before] == [str(file)]
    file.write_text("x = 2\n")
    os.utime(file, ns=(0, before[0][2] + 1))
    assert list(environment._files(str(tmp_path))) != before


def test_where_the_cache_is_does_not(monkeypatch):
    before = environment.fingerprint()
    monkeypatch.setenv("REACTANT_CACHE", "/elsewhere")
    monkeypatch.setenv("REACTANT_PROGRESS", "off")
    assert environment.fingerprint() == before
