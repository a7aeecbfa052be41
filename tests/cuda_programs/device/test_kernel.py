from reactant.cuda_programs.device.kernel import kernel, with_addresses

TEXT = """define void @k(ptr noundef readonly byval(%struct.P) align 8 captures(none) %arg, i32 noundef %n) #0 {
bb:
  %t = tail call noundef i32 @nvvm.read.ptx.sreg.tid.x()
  %f = call float @g(i32 %t)
  store float %f, ptr getelementptr inbounds nuw (i8, ptr @s, i64 16), align 4
  ret void
}
"""


def test_registers_become_parameters():
    made = kernel(TEXT)
    assert [(p.name, p.type, p.value, p.by_address) for p in made.parameters] == [
        ("%arg", "ptr", "%struct.P", True), ("%n", "i32", "i32", False)]
    assert made.function.blocks["bb"][0] == "%f = call float @g(i32 %r.tid.x)" and made.calls == {"g"}


def test_addresses_in_constant_expressions_become_instructions():
    made = kernel(TEXT).function
    made_before = with_addresses(made, {"s": "%shared.0"})
    assert made_before == ["%addr.0 = getelementptr inbounds nuw i8, ptr %shared.0, i64 16"]
    assert made.blocks["bb"][1] == "store float %f, ptr %addr.0, align 4"
