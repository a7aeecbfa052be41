"""Places as texts, by file, and with the lines around them."""
import dataclasses

from reactant.support import source_lines


@dataclasses.dataclass
class Said:
    place: str


def test_texts(tmp_path):
    file = tmp_path / "some.py"
    file.write_text("".join(f"    line {k}\n" for k in range(1, 11)))
    assert source_lines.text_at(f"{file}:3") == "line 3"
    assert source_lines.text_at(f"{file}:99") == source_lines.text_at("(no line)") == ""
    found = list(source_lines.around(str(file), [2, 8], 1))
    assert found == [(1, "    line 1"), (2, "    line 2"), (3, "    line 3"), None,
                     (7, "    line 7"), (8, "    line 8"), (9, "    line 9")]
    assert list(source_lines.around(str(file), [10, 99], 1)) == [(9, "    line 9"), (10, "    line 10"), None, (99, "")]


def test_by_file():
    rows = [Said("a.py:3"), Said("b.py:1"), Said("a.py:1"), Said("(no line)")]
    assert source_lines.by_file(rows) == {"a.py": {3: rows[0], 1: rows[2]}, "b.py": {1: rows[1]}}
