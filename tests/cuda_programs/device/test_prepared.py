from reactant.cuda_programs.device.prepared import prepared
from reactant.cuda_programs.device.retarget import retargeted
from reactant.cuda_programs.device.text import split

TEXT = """define ptx_kernel void @k(ptr %x) {
  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %v = call i32 @twice(i32 %l)
  %w = call i32 @down(i32 %v)
  store i32 %w, ptr %x
  ret void
}
define i32 @twice(i32 %v) #0 {
  %r = mul i32 %v, 2
  ret i32 %r
}
define i32 @down(i32 %v) #0 {
  %z = icmp eq i32 %v, 0
  br i1 %z, label %end, label %more
more:
  %m = sub i32 %v, 1
  %d = call i32 @down(i32 %m)
  br label %end
end:
  %r = phi i32 [ 7, %0 ], [ %d, %more ]
  ret i32 %r
}
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
attributes #0 = { noinline nounwind }
"""


def test_calls_are_inlined_but_those_of_functions_that_call_themselves():
    module = split(prepared(retargeted(TEXT)))
    assert set(module.functions) == {"k", "down"}
    kernel = module.functions["k"]
    assert "@twice(" not in kernel and "@down(" in kernel and "@nvvm.read.ptx.sreg.tid.x()" in kernel
