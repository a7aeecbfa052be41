import platform
from importlib import metadata

import pytest

from reactant.__main__ import main
from reactant.cli import info
from reactant.simplify.facts import target_costs


def test_prints_versions_devices_and_settings(capsys):
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    for expected in (platform.python_version(), metadata.version("jax"), "cpu:0", "transparent huge pages"):
        assert expected in printed


def test_a_missing_package_is_said(monkeypatch):
    def missing(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    assert info.facts()["numba"] == "not installed"


def test_thresholds_of_this_machine(monkeypatch, tmp_path):
    file = tmp_path / "calibration.json"
    monkeypatch.setattr(target_costs, "stored_at", lambda: file)
    assert info.facts()["thresholds"].startswith("as shipped")
    file.write_text("{}")
    assert info.facts()["thresholds"] == str(file)


@pytest.mark.parametrize(("content", "expected"), [
    ("always [madvise] never\n", "madvise"),
    ("[always] madvise never", "always"),
    (None, "no such setting on this system"),
])
def test_huge_pages(monkeypatch, tmp_path, content, expected):
    file = tmp_path / "enabled"
    if content is not None:
        file.write_text(content)
    monkeypatch.setattr(info, "_HUGE_PAGES", file)
    assert info.facts()["transparent huge pages"] == expected
