import os

import pytest

from reactant.processes.printing import Printed

GLOO = b"[Gloo] Rank 0 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3\n"


def printed(pieces, **options):
    reading, writing = os.pipe()
    stream = Printed(writing, **options)
    for each in pieces:
        stream.add(each)
    stream.end()
    os.close(writing)
    with open(reading, "rb") as file:
        return file.read()


@pytest.mark.parametrize("pieces, options, wanted", [
    ([b"one\ntw", b"o\nend"], {"number": 3}, b"[3] one\n[3] two\n[3] end\n"),
    ([b"10%\r20%", b"\r"], {"number": None}, b"10%\r20%\r"),
    ([b"a\n" + GLOO + b"b\n"], {"number": None}, b"a\nb\n"),
    ([GLOO[:5], GLOO[5:30], GLOO[30:] + b"b\n"], {"number": None}, b"b\n"),
    ([b"a\n" + 2 * GLOO[:-1] + b"\n", b"\nb\n"], {"number": None}, b"a\nb\n"),
    ([GLOO + b"\n\nb\n"], {"number": None}, b"\n\nb\n"),
    ([b"[1, 2]\n", b"[Glo"], {"number": None}, b"[1, 2]\n[Glo"),
    ([b"a\n"], {"number": None, "seen": False}, b"")])
def test_streams(pieces, options, wanted):
    assert printed(pieces, **options) == wanted
