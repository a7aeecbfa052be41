"""Cumulative sums for GPUs, by what jax lowers for one: as windows, which run here, and back."""
import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
import pytest
from jax import lax

import reactant
from reactant.frontends.jax.stablehlo import module_of
from reactant.ir import gpu_scans, modules
from reactant.ir.context import building
from reactant.runtime.executable import Executable
from tests.oracle import assert_same

CASES = {
    "line": (jnp.cumsum, np.arange(7.0)),
    "rows": (lambda x: jnp.cumsum(x, axis=1), np.random.default_rng(1).random((3, 5))),
    "columns": (lambda x: jnp.cumsum(x, axis=0), np.random.default_rng(2).random((4, 3, 2)).astype("float32")),
    "whole numbers": (lambda x: jnp.cumsum(x, axis=1), np.arange(12, dtype="int8").reshape(3, 4)),
    "halves": (jnp.cumsum, np.arange(5, dtype="float16")),
    "twice": (lambda x: jnp.cumsum(jnp.cumsum(x) * 2), np.arange(6, dtype="float32")),
}
LEFT = {
    "one element": (jnp.cumsum, np.ones(1)),
    "complex": (jnp.cumsum, np.ones(4, complex)),
    "from behind": (lambda x: lax.cumsum(x, reverse=True), np.ones(4)),
    "products": (jnp.cumprod, np.ones(4)),
    "windows of three": (lambda x: lax.reduce_window(x, 0.0, lax.add, (3,), (1,), [(2, 0)]), np.ones(4)),
    "from minus zero": (lambda x: lax.reduce_window(x, -0.0, lambda a, b: a + b, (4,), (1,), [(3, 0)]), np.ones(4)),
    "from one": (lambda x: lax.reduce_window(x, 1.0, lax.add, (4,), (1,), [(3, 0)]), np.ones(4)),
    "every second": (lambda x: lax.reduce_window(x, 0.0, lax.add, (4,), (1,), [(6, 0)], window_dilation=(2,)),
                     np.ones(4)),
}


since_scans = pytest.mark.skipif(jaxlib.version.__version_info__ < gpu_scans.FIRST, reason="jax has no scans for GPUs")


def text_for(function, x, platform):
    return jax.jit(function).trace(x).lower(lowering_platforms=(platform,)).as_text()


def scans(module):
    return len(list(modules.ops_called(gpu_scans.SCAN, module)))


@since_scans
@pytest.mark.parametrize("name", CASES)
def test_there_and_back(name):
    function, x = CASES[name]
    with jax.enable_x64(True), building():
        theirs, here = (modules.parse(text_for(function, x, platform)) for platform in ("cuda", "cpu"))
        count = scans(theirs)
        assert count and not scans(here)
        gpu_scans.as_windows(theirs)
        assert not scans(theirs)
        modules.verify(theirs)
        expected, rtol = [np.asarray(function(x))], 1e-3 if x.dtype == "float16" else 1e-6
        assert_same(Executable(modules.clone(theirs))([x]), expected, rtol=rtol)
        for module in (theirs, here):
            gpu_scans.as_scans(module)
            modules.verify(module)
            assert scans(module) == count
        gpu_scans.as_windows(here)
        assert_same(Executable(here)([x]), expected, rtol=rtol)


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_windows(name):
    function, x = LEFT[name]
    with jax.enable_x64(True), building():
        module = modules.parse(text_for(function, x, "cpu"))
        before = str(module)
        gpu_scans.as_scans(module)
    assert str(module) == before


@pytest.mark.parametrize("change", [
    ("stablehlo.add %arg1, %arg2", "stablehlo.maximum %arg1, %arg2"), ("dense<0.0>", "dense<1.0>"),
    ("return %s, %s", "return %s, %arg1"), ("return %0#0", "return %0#1")])
def test_other_scans_stay(change):
    text = """
    func.func @main(%x: tensor<1xf64>) -> tensor<1xf64> {
      %start = stablehlo.constant dense<0.0> : tensor<1xf64>
      %y = stablehlo.reshape %x : (tensor<1xf64>) -> tensor<1x1xf64>
      %0:2 = chlo.scan(%y) inits (%start) dimension=0 attributes {is_associative = true, is_reverse = false} {
      ^bb0(%arg1: tensor<1xf64>, %arg2: tensor<1xf64>):
        %s = stablehlo.add %arg1, %arg2 : tensor<1xf64>
        stablehlo.return %s, %s : tensor<1xf64>, tensor<1xf64>
      } : (tensor<1x1xf64>, tensor<1xf64>) -> (tensor<1x1xf64>, tensor<1xf64>)
      %1 = stablehlo.reshape %0#0 : (tensor<1x1xf64>) -> tensor<1xf64>
      return %1 : tensor<1xf64>
    }"""
    if change[0].startswith("return %0"):
        text = text.replace("%1 = stablehlo.reshape %0#0 : (tensor<1x1xf64>) -> tensor<1xf64>\n", "").replace(
            "return %1", "return %0#1")
    else:
        assert change[0] in text
        text = text.replace(*change)
    with building():
        module = modules.parse(text)
        gpu_scans.as_windows(module)
        assert scans(module) == 1


def test_sums_from_behind():
    text = """
    func.func @main(%x: tensor<2x4xf64>) -> tensor<2x4xf64> {
      %start = stablehlo.constant dense<0.0> : tensor<2xf64>
      %0:2 = chlo.scan(%x) inits (%start) dimension=1 attributes {is_associative = true, is_reverse = true} {
      ^bb0(%a: tensor<2xf64>, %b: tensor<2xf64>):
        %s = stablehlo.add %a, %b : tensor<2xf64>
        stablehlo.return %s, %s : tensor<2xf64>, tensor<2xf64>
      } : (tensor<2x4xf64>, tensor<2xf64>) -> (tensor<2x4xf64>, tensor<2xf64>)
      return %0#0 : tensor<2x4xf64>
    }"""
    x = np.arange(8.0).reshape(2, 4)
    with building():
        module = modules.parse(text)
        gpu_scans.as_windows(module)
        assert not scans(module)
        assert_same(Executable(module)([x]), [np.cumsum(x[:, ::-1], axis=1)[:, ::-1]])


@since_scans
def test_programs_for_a_gpu_have_the_librarys_and_all_others_windows():
    x = np.arange(9.0).reshape(3, 3)
    with jax.enable_x64(True):
        ours = jax.jit(reactant.jit(lambda x: np.cumsum(x, axis=1) * 2))
        here, there = (ours.trace(x).lower(lowering_platforms=(platform,)).as_text() for platform in ("cpu", "cuda"))
    assert "chlo.scan" in there and "reduce_window" not in there
    assert "chlo.scan" not in here


@since_scans
def test_programs_lowered_for_a_gpu_are_read_as_windows():
    with jax.enable_x64(True), building():
        body = module_of(text_for(jnp.cumsum, np.arange(4.0), "cuda"))
        assert not scans(modules.parse(body.bytecode))
