"""`reactant cache`."""
import pytest

from reactant.cache import store
from reactant.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("REACTANT_CACHE", str(tmp_path / "programs"))
    monkeypatch.setattr(store, "SETTINGS", store.Settings())
    return tmp_path / "programs"


def test_what_there_is_and_what_is_done_with_it(folder, tmp_path, capsys):
    def said(*arguments):
        assert main(["cache", *arguments]) == 0
        return capsys.readouterr().out
    assert "0 programs" in said("info")
    store.write("a1", b"content")
    store.note_reason("f", "it prints")
    assert str(folder) in said("info") and "1 programs" in said("info") and "f: it prints" in said("info")
    assert said("export", str(tmp_path / "all.zip")).startswith("1 programs")
    assert said("clear").startswith("1 programs") and store.read("a1") is None
    assert said("import", str(tmp_path / "all.zip")).startswith("1 programs") and store.read("a1") == b"content"
    (folder / "a1.program").write_bytes(b"rubbish")
    assert "0 programs are sound, 1 were damaged" in said("verify")


def test_mistakes_are_one_line(folder, tmp_path, capsys, monkeypatch):
    assert main(["cache", "import", str(tmp_path / "none.zip")]) == 2
    assert "reactant cache export" in capsys.readouterr().err
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    assert main(["cache", "verify"]) == 2
    assert "chmod go-w" in capsys.readouterr().err
    monkeypatch.setenv("REACTANT_CACHE", "off")
    assert main(["cache", "info"]) == 0 and "off" in capsys.readouterr().out
