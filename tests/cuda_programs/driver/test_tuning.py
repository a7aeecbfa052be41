"""`reactant tune`: what is chosen of which times, what is refused, and a program that is tuned."""
import os
import subprocess

import pytest

from reactant.cli import main
from reactant.cuda_programs.driver import command, tuning
from reactant.cuda_programs.driver.options import CommandLineError, parse
from reactant.cuda_programs.driver.tuning import OWN, Report, Site, TuningError

K, L = Site("k", "64x1x1/3"), Site("l", "32x1x1/5")
PROGRAM = """#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void add(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int k = 0; k < 40; ++k) x[i] = x[i] * .999f + i * .01f;
}
int main(int count, char **words) {
    if (count > 1 && words[1][0] == 'f') { fprintf(stderr, "no input\\n"); return 3; }
    float *x;
    cudaMallocManaged(&x, 100000 * sizeof(float));
    int launches = count > 1 ? atoi(words[1]) : 0;
    const int blocks = count > 1 && strchr(words[1], 's') ? 1 : (100000 + 127) / 128;
    for (int k = 0; k < launches; ++k) add<<<blocks, 128>>>(x, 100000);
    cudaDeviceSynchronize();
    double sum = 0;
    for (int i = 0; i < 100000; ++i) sum += x[i];
    printf("%.0f\\n", sum);
}
"""


def runner(file, times, chosen, walls=None):
    """A program whose versions take these times; those of choices by the file. `walls`: by schedules."""
    def run(mode):
        mode, _, forced = mode.partition("/")
        modes = dict(line.rsplit("\t", 1) for line in file.read_text().splitlines()) if mode == "choices" else {}
        took = {}
        for site, found in times.items():
            label = modes.get(f"{site.kernel}\t{site.signature}", OWN) if mode == "choices" else mode[1:]
            label, _, own = label.partition("/")
            label = label if label in found else OWN
            each = 1e6 * (chosen.get(site, found[label]) if mode == "choices" else found[label])
            took[site, label] = each, 1e6 * (walls or {}).get((site, forced or own), 1)
        return Report(file, {site: list(found) for site, found in times.items()}, took, 2 if walls else 1)
    return run


@pytest.mark.parametrize("times, chosen, expected", [
    ({OWN: 10, "a": 5, "b": 8}, {}, "a"),
    ({OWN: 10, "a": 9.7}, {}, OWN),                     # no more than noise
    ({OWN: 10, "a": 5}, {K: 9.9}, OWN),                 # better once, and not when it is checked
    ({OWN: 10, "a": 12, "b": 30}, {}, OWN)])
def test_choices(tmp_path, times, chosen, expected):
    file = tmp_path / "tuned" / "choices"
    found, choices = tuning.tuned(runner(file, {K: times, L: {OWN: 3.0}}, chosen))
    assert {choice.site: choice.label for choice in choices} == {K: expected, L: OWN}
    assert found == file and file.read_text() == f"k\t64x1x1/3\t{expected}\nl\t32x1x1/5\t{OWN}\n"


def test_schedules(tmp_path):
    walls = {(K, "alone"): 0.5, (L, "fine"): 0.99, (K, "coarse"): 2}
    run = runner(tmp_path / "choices", {K: {OWN: 10, "a": 5}, L: {OWN: 3}}, {}, walls)
    _, choices = tuning.tuned(run)
    assert {choice.site: choice.label for choice in choices} == {K: "a/alone", L: OWN}


def test_hopeless_versions_are_run_once(tmp_path):
    ran = []
    run = runner(tmp_path / "choices", {K: {OWN: 10, "a": 20, "b": 11}}, {})
    tuning.tuned(lambda mode: ran.append(mode) or run(mode), rounds=3)
    assert [ran.count(f"={label}") for label in (OWN, "a", "b")] == [3, 1, 3]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    (folder / "app.cu").write_text(PROGRAM)
    assert command.main(["--tune=scalar,vectors32", str(folder / "app.cu"), "-o", str(folder / "app")]) == 0
    return folder / "app"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REACTANT_CUDA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuned"


def said(program, launches, **environment):
    return subprocess.run([program, str(launches)], capture_output=True, text=True, check=True,
                          env=os.environ | environment).stdout


def test_a_program(program, cache, capsys):
    assert main(["tune", str(program), "--rounds", "1", "--", "20"]) == 0
    shown = capsys.readouterr().out
    [file] = cache.iterdir()
    assert f"kept in {file}" in shown and "_Z3addPfi" in shown
    kernel, signature, label = file.read_text().split()
    assert (kernel, signature) == ("_Z3addPfi", "128x1x1/9") and label.partition("/")[0] in (OWN, "scalar", "vectors32")
    assert said(program, 3) == said(program, 3, REACTANT_CUDA_TUNE="off") != said(program, 2)


def test_choices_are_read(program, cache, tmp_path):
    report = tmp_path / "report"
    environment = {"REACTANT_CUDA_TUNE": "choices", "REACTANT_CUDA_TUNE_REPORT": str(report)}
    said(program, 1, **environment)
    file = tuning.read(report.read_text()).choices
    file.parent.mkdir(parents=True)
    for label in ("scalar", "vectors32/alone", "own/fine", "own/coarse"):
        file.write_text(f"a torn line\n_Z3addPfi\t128x1x1/9\t{label}\n")
        assert said(program, 4, **environment) == said(program, 4, REACTANT_CUDA_TUNE="off")
        found = tuning.read(report.read_text())
        assert list(found.nanoseconds) == [(Site("_Z3addPfi", "128x1x1/9"), label)]


def test_a_program_measures_while_it_runs(program, cache):
    said(program, 10)
    assert not cache.exists()                   # too few launches to compare
    wanted = said(program, 400, REACTANT_CUDA_TUNE="off")
    assert not cache.exists()
    assert said(program, 400) == wanted
    [file] = cache.iterdir()
    assert file.read_text().split("\t")[:2] == ["_Z3addPfi", "128x1x1/9"]


def test_short_launches_are_soon_left_alone(program, cache, tmp_path):
    report = tmp_path / "report"
    said(program, "500s", REACTANT_CUDA_TUNE_REPORT=str(report))
    [scalar] = [line for line in report.read_text().splitlines() if line.startswith("version") and "\tscalar\t" in line]
    assert 1 <= int(scalar.split("\t")[4]) <= 16 and not cache.exists()


@pytest.mark.parametrize("words, words_said", [
    (["0"], "launched no kernel with versions"),
    (["f"], "ends with status 3: no input")])
def test_programs_that_cannot_be_tuned(program, cache, capsys, words, words_said):
    assert main(["tune", str(program), "--", *words]) == 2
    assert words_said in capsys.readouterr().err
    assert not cache.exists()


def test_what_is_no_program(cache, tmp_path):
    with pytest.raises(TuningError, match="cannot be run: No such file"):
        tuning.main([str(tmp_path / "none")])


def test_versions_are_named():
    assert parse(["--tune=scalar,blocks2x", "a.cu"]).tune == ("scalar", "blocks2x")
    with pytest.raises(CommandLineError, match="there is no version 'fast'"):
        parse(["--tune=fast", "a.cu"])
