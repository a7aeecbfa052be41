"""Which precompiled headers a command gets."""
import pytest

from reactant.cuda_programs.driver import precompiled


@pytest.fixture
def headers(tmp_path, monkeypatch):
    """Headers that know `_GNU_SOURCE`, `NDEBUG` and `WIDTH`; gives the flags that they are precompiled with."""
    made = []

    def make(flags, target):
        made.append(flags)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
        return True
    monkeypatch.setattr(precompiled.library, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(precompiled, "_words", lambda folder, told: {"_GNU_SOURCE", "NDEBUG", "WIDTH", "int"})
    monkeypatch.setattr(precompiled, "_make", make)
    return made


BASE = ["clang", "-x", "cuda", "-std=c++17", "-O3"]


@pytest.mark.parametrize("more, shared", [
    (["-Ifolder", "-Wall", "-w", "-g"], True),          # not seen by headers
    (["-DN=3", "-Dscale(x)=x"], True),                  # macros that they do not name
    (["-DNDEBUG"], False), (["-D_GNU_SOURCE=1"], False), (["-O0"], False), (["-std=c++20"], False),
])
def test_what_makes_another_file(headers, more, shared):
    first, second = precompiled.flags_for(BASE), precompiled.flags_for([*BASE, *more])
    assert first[0] == second[0] == "-include-pch" and (first == second) == shared and len(headers) == 2 - shared
    assert precompiled.flags_for([*BASE, *more]) == second and len(headers) == 2 - shared


@pytest.mark.parametrize("more", [["-DWIDTH=8"], ["-imacros", "x.h"], ["-include-pch", "x.pch"]])
def test_what_gets_none(headers, more):
    assert precompiled.flags_for([*BASE, *more]) == [] and not headers


def test_forgotten_after_a_failure(headers):
    flags = precompiled.flags_for(BASE)
    assert precompiled.forget([*BASE, *flags]) and not precompiled.forget(BASE)
    precompiled.flags_for(BASE)
    assert len(headers) == 2


@pytest.mark.parametrize("text, header", [
    ("#include <thrust/sort.h>\n", "reactant_thrust.h"), ("  # include \"cub/cub.cuh\"\n", "reactant_cub.h"),
    ("#include <cub/cub.cuh>\n#include <thrust/sort.h>\n", "reactant_thrust_cub.h"),
    ("// thrust/sort.h\n#include <vector>\n", "")])
def test_which_libraries_a_source_includes(monkeypatch, text, header):
    monkeypatch.setattr(precompiled, "device_libraries", lambda: ("-Isomewhere",))
    assert precompiled.library_header(text) == header
    monkeypatch.setattr(precompiled, "device_libraries", lambda: ())
    assert precompiled.library_header(text) == ""
