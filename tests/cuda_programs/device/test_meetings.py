from reactant.cuda_programs.device.meetings import meeting, narrowed, widened


def test_meetings_are_read():
    found = meeting("%r = tail call contract noundef float @reactant.shuffle.down.f32(i32 noundef -1, "
                    "float noundef %v, i32 noundef range(i32 0, 3) %d, i32 noundef 32) #10")
    assert (found.kind, found.code, found.result, found.type) == ("shuffle.down", 23, "%r", "float")
    assert found.operands == {"m": ("i32", "-1"), "x": ("float", "%v"), "y": ("i32", "%d"), "z": ("i32", "32")}
    assert meeting("call void @reactant.barrier.block()").operands == {}
    assert meeting("%p = call ptr @reactant.launch()") is None and meeting("ret void") is None


def test_values_of_64_bits():
    assert widened("float", "%v", "w") == (["%w.b = bitcast float %v to i32", "%w = zext i32 %w.b to i64"], "%w")
    assert narrowed("i1", "%a", "%r") == ["%r = trunc i64 %a to i1"]
