"""All kinds of device code in one program (programs/kinds.cu): objects with virtual functions, recursion, lists on the
device's heap, atomics, variables, templates, lambdas, halves, barriers of the grid, messages, assertions."""


def test_kinds_of_device_code(ran):
    said = ran("kinds.cu")
    assert "\n0 bad\n" in said and "thread 1 of 4: text  1.50 1099511627776 x %\n" in said
    assert "block: [0,0,0], thread: [6,0,0] Assertion `threadIdx.x < n` failed." in said
