"""What a trial has found is told again outside of it."""
from reactant.loopnests.emission.affine import symbol
from reactant.loopnests.emission.writer import Writer


def doubled(writer, name, times):
    for _ in range(times):
        name = writer.pure(f"arith.addi {name}, {name} : index", [name, name])
    return name


def test_what_many_are_made_of_is_told_once():
    writer = Writer()
    first = writer.define("%first")
    with writer.trial():
        last = doubled(writer, first, 60)
    assert not writer.scopes[0].lines and last not in writer.level
    assert writer.here(symbol(last)) is not None        # 2**60 ways lead to the first
    assert len(writer.scopes[0].lines) == 60


def test_what_only_the_trial_had_is_not_told():
    writer = Writer()
    with writer.trial():
        writer.open()
        last = doubled(writer, writer.define("%counter"), 60)
    assert writer.here(symbol(last)) is None
    assert not writer.scopes[0].lines
