"""nvcc's command line, option by option."""
import pytest

from reactant.cuda_programs.driver.options import OPTIONS, CommandLineError, Input, parse

FORMS = [
    ("-o app", {"output": "app"}), ("--output-file=app", {"output": "app"}), ("--output-file app", {"output": "app"}),
    ("-c", {"mode": "object"}), ("-dc", {"mode": "object", "relocatable": True}), ("-ptx", {"mode": "ptx"}),
    ("-rdc=true", {"relocatable": True}), ("-rdc true", {"relocatable": True}),
    ("--relocatable-device-code=false", {"relocatable": False}), ("-dlink", {"mode": "device-link"}),
    ("-O3", {"optimisation": "-O3"}), ("-O 2", {"optimisation": "-O2"}), ("-O", {"optimisation": "-O1"}),
    ("--optimize=1", {"optimisation": "-O1"}),
    ("-Ia -I b -I=c --include-path=d,e", {"both": ["-Ia", "-Ib", "-Ic", "-Id", "-Ie"]}),
    ("-DA -DB=1 -D C=2 --define-macro=D=3 -UE", {"both": ["-DA", "-DB=1", "-DC=2", "-DD=3", "-UE"]}),
    ("-include a.h -isystem=b", {"both": ["-include", "a.h", "-isystem", "b"]}),
    ("-std=c++14", {"standard": "c++14"}), ("--std c++17", {"standard": "c++17"}),
    ("-Xcompiler -Wall,-fPIC", {"host_options": ["-Wall", "-fPIC"]}),
    ("-Xcompiler=-fopenmp", {"host_options": ["-fopenmp"]}),
    ("--compiler-options '-O2 -march=native'", {"host_options": ["-O2", "-march=native"]}),
    ("-Wall -fPIC -pthread -march=native", {"host_options": ["-Wall", "-fPIC", "-pthread", "-march=native"]}),
    ("-lm -L/x -lcudart -Xlinker -rpath,/y", {"inputs": [Input("option", "-lm"), Input("option", "-L/x"),
                                                          Input("option", "-Wl,-rpath"), Input("option", "-Wl,/y")]}),
    ("-g -G -lineinfo", {"debug": True, "device_debug": True, "line_info": True}),
    ("-use_fast_math -fmad=false", {"fast_math": True, "contract": False}),
    ("-MD -MF x.d -MT x.o", {"dependencies": ["-MD", "-MF", "x.d", "-MT", "x.o"]}),
    ("-arch=sm_80 -arch sm_80 -gencode arch=compute_80,code=sm_80 --generate-code=arch=compute_80,code=[compute_80]"
     " --expt-extended-lambda -Xptxas -v,-O3 --ptxas-options=-v -maxrregcount=32 -maxrregcount 32 -cudart static", {}),
    ("-x cu a.txt", {"inputs": [Input("cuda", "a.txt")]}), ("--x=c++ a.cu", {"inputs": [Input("c++", "a.cu")]}),
    ("a.cu b.cpp c.o libd.a libe.so.3 f.c", {"inputs": [
        Input("cuda", "a.cu"), Input("c++", "b.cpp"), Input("object", "c.o"), Input("library", "libd.a"),
        Input("library", "libe.so.3"), Input("c", "f.c")]}),
    ("--run --run-args '1 2'", {"run": True, "run_arguments": ["1", "2"]}),
]


@pytest.mark.parametrize("text, wanted", FORMS, ids=[text[:40] for text, _ in FORMS])
def test_options_are_nvccs(text, wanted):
    import shlex

    command = parse(shlex.split(text))
    assert {name: getattr(command, name) for name in wanted} == wanted


@pytest.mark.parametrize("text, said", [
    ("--no-such", "unknown option '--no-such'"), ("-Zq", "unknown option '-Zq'"), ("-o", "'-o' lacks its value"),
    ("-rdc=maybe", "-rdc=maybe: the value is true or false"), ("-x fortran", "-x fortran: there is no such language"),
    ("--options-file nowhere", "the options file 'nowhere' cannot be read"), ("-c=1", "unknown option '-c=1'"),
])
def test_what_is_no_option_is_an_error_that_names_it(text, said):
    with pytest.raises(CommandLineError) as caught:
        parse(text.split())
    assert said in caught.value.fact and caught.value.hint


def test_every_row_has_an_action_and_no_name_is_there_twice():
    names = [name for option in OPTIONS for name in option.names]
    assert len(names) == len(set(names))
    for option in OPTIONS:
        if option.value and option.action != "response_file":
            value = {"relocatable": "true", "contract": "true", "language": "cu"}.get(option.action, "3")
            parse([f"{option.names[0]}={value}"])
            parse([option.names[0], value])
        elif not option.value:
            parse([option.names[0]])


def test_response_files_and_the_environment(tmp_path, monkeypatch):
    inner, outer = tmp_path / "inner.rsp", tmp_path / "outer.rsp"
    inner.write_text('-DB="a b"\n')
    outer.write_text(f"-DA @{inner}\n")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-O3 -DC")
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-DZ")
    command = parse([f"@{outer}", "--options-file", str(inner), "a.cu"])
    assert command.both == ["-DZ", "-DA", "-DB=a b", "-DB=a b", "-DC"] and command.optimisation == "-O3"


def test_checks():
    assert [parse([*given, "a.cu"]).check for given in ([], ["--check"], ["--check=memory"], ["--check=race"])] == [
        "", "memory", "memory", "race"]
    with pytest.raises(CommandLineError, match="--check=speed: there is no such check"):
        parse(["--check=speed", "a.cu"])
