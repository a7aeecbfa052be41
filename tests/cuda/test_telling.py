"""What `explain` says."""
from reactant.cuda.telling import Place, Told


def test_text():
    told = Told()
    assert told.text() == "no launches so far"
    for _ in range(2):
        told.by_host(Place("k", "app.cu:7", (4, 1, 1), (8, 8, 1)), "it is odd")
    told.by_host(Place("k", "", (4, 1, 2), (1, 1, 1)), "it is odd")
    assert told.text() == """\
k: not raised
  app.cu:7 <<<4, (8, 8)>>>: 2 launches
    2 by the program's own code: it is odd
  line unknown <<<(4, 1, 2), 1>>>: 1 launch
    1 by the program's own code: it is odd"""
