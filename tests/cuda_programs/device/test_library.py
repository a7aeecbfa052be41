from reactant.cuda_programs.device.library import definitions, external, signature


def test_signatures():
    found = signature("declare noundef nonnull ptr @_Znwm(i64 noundef) local_unnamed_addr #4\n")
    assert (found.name, found.result, found.arguments) == ("_Znwm", "ptr", ("i64",))


def test_definitions_bring_what_they_need():
    text, names = definitions(["declare i32 @nvvm.read.ptx.sreg.laneid()",
                               "declare void @__assertfail(ptr, ptr, i32, ptr, i64)"])
    assert {"reactant.laneid", "reactant.thread", "__assertfail", "reactant.block"} <= names
    assert "@reactant_device_assert(" in text and "declare void @reactant_device_assert" in external(text)
