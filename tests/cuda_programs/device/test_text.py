from reactant.cuda_programs.device.text import function, opcode_of, result_of, split, successors, uses_of

MODULE = """@g = global i32 0
define void @f(i32 %n) {
bb:
  switch i32 %n, label %end [
    i32 1, label %one
  ]
one:                                              ; preds = %bb
  %x = tail call i32 @g(i32 %n)
  br label %end

end:
  ret void
}
declare i32 @g(i32)
"""


def test_functions_are_taken_apart_and_put_together():
    module = split(MODULE)
    assert "define" not in module.rest and list(module.functions) == ["f"]
    made = function(module.functions["f"])
    assert list(made.blocks) == ["bb", "one", "end"]
    assert successors(made.blocks["bb"][-1]) == ["end", "one"]
    assert function(made.text()).blocks == made.blocks


def test_instructions():
    line = "%x = tail call i32 @g(i32 %n)"
    assert (result_of(line), opcode_of(line), uses_of(line)) == ("%x", "call", ["%n"])
    assert result_of("store i32 %a, ptr %b") is None
