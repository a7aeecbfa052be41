"""Names, constants and types of vectors."""
import pytest

from reactant.cuda_programs.device.lanes import literal, plain, suffix
from reactant.cuda_programs.device.spread import NotVectorizable


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("text", "constant"), [
    ("1", True), ("-3", True), ("0x7FF0000000000000", True), ("1.5e+00", True), ("true", True), ("null", True),
    ("poison", True), ("%x", False), ("@g", False), ("zeroinitializer", False)])
def test_constants(text, constant):
    assert literal(text) is constant


def test_types_of_elements():
    assert [plain(kind) for kind in ("i1", "i64", "float", "ptr")] == ["i1", "i64", "float", "ptr"]
    assert [suffix(kind) for kind in ("i32", "double", "half", "ptr")] == ["i32", "f64", "f16", "p0"]
    with pytest.raises(NotVectorizable, match=r"vectors of \[4 x i8\]"):
        plain("[4 x i8]")
