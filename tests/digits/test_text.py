from reactant.digits import records
from reactant.digits.account import Accuracy
from reactant.digits.text import bits

OUTPUT = records.Output("result", "float32", (2,), 24, 3.25, 20.0, (1,), 0.5, 0.625, 24.0, 12.0)


def test_the_whole_text():
    line = records.Line("f.py:3", ("subtract", "add"), 24, 20.75, 21.0, 20.75, 2, 20.5)
    other = records.Line("f.py:1", ("add",), 24, 0.0, 0.0, 0.5)
    found = Accuracy("f", "float64", [OUTPUT], [line, other], [records.Branch("f.py:2", "compare", 1, 7)],
                     [records.Loop("f.py:2", 24, ((1, 0.0), (3, 12.5)))])
    assert str(found) == """\
f, beside itself in float64:
  result (float32[2]): 3.2 of 24 bits are right in the worst element, [1]; 20 in the median, 12 of the largest one. \
It is 0.5, exactly 0.625

Lines by the bits they cost alone:
  alone  local  amplified
   20.5   20.8         21   f.py:3      (2 out of range)
      ?      0          0   f.py:1

Other results of comparisons and conversions in more precision:
  1 of 7   f.py:2   compare

Bits lost of what loops carry, by iterations:
  f.py:2      1: 0, 3: 12.5"""
    assert found.blamed == [line]


def test_doubts():
    output = records.Output("result", "float64", (), 53, 0.0, 0.0, (), 1.0, 2.0, 0.0, 0.0)
    assert "even float64x2 does not tell what it should be (2?)" in str(Accuracy("f", "float64x2", [output]))
    fine = records.Output("result", "float64", (), 53, 53.0, 53.0, (), 1.0, 1.0, 53.0, 53.0)
    loop = records.Loop("f.py:2", 53, ((1, 0.0), (3, 53.0), (7, 0.0)))
    assert "both may have gone to another solution" in str(Accuracy("f", "float64x2", [fine], [], [], [loop]))


def test_bits():
    assert [bits(x) for x in (0.0, -0.0, 0.04, 3.0, 3.14)] == ["0", "0", "0.0", "3", "3.1"]
