import json
import os

import numpy as np
import pytest

import reactant
from reactant.processes import places


@pytest.mark.parametrize("file, users", [
    ("model.py", True), ("/home/ann/model.py", True), (__file__, True), ("<stdin>", True), (json.__file__, False),
    (np.__file__, False), (reactant.__file__, False), ("<frozen runpy>", False)])
def test_whose_files_are_whose(file, users):
    assert places.is_users(file) == users


def test_where_the_main_thread_is():
    def here():
        return places.of_main_thread(), places.stack_of_main_thread()

    line, stack = here()
    assert line.startswith(f"{os.path.abspath(__file__)}:") and line.endswith(
        "in here: return places.of_main_thread(), places.stack_of_main_thread()")
    assert stack[-1] == line and stack[-2].endswith(": line, stack = here()")
