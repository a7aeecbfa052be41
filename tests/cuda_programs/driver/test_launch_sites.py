"""Constant shapes of blocks in the host's LLVM IR."""
from reactant.cuda_programs.driver.launch_sites import shapes

REGISTERED = '''@0 = private unnamed_addr constant [6 x i8] c"_Z1kv\\00", align 1
@1 = private unnamed_addr constant [6 x i8] c"_Z1qv\\00", align 1
define internal void @__cuda_register_globals(ptr %0) {
  %2 = call i32 @__cudaRegisterFunction(ptr %0, ptr nonnull @stub_k, ptr nonnull @0, ptr nonnull @0, i32 -1, ptr null)
  %3 = call i32 @__cudaRegisterFunction(ptr %0, ptr nonnull @stub_q, ptr nonnull @1, ptr nonnull @1, i32 -1, ptr null)
  ret void
}
'''
CONFIGURE = "call i32 @__cudaPushCallConfiguration(i64 %g, i32 1, i64 {xy}, i32 {z}, i64 noundef 0, ptr noundef null)"


def site(xy, z, launch="call void @stub_k()"):
    return f"""define void @f{xy}(i64 %g) {{
  %2 = {CONFIGURE.format(xy=xy, z=z)}
  %3 = icmp eq i32 %2, 0
  br i1 %3, label %4, label %5

4:
  {launch}
  br label %5

5:
  ret void
}}
"""


def test_constants_are_found_behind_the_branch():
    text = REGISTERED + site(16 | 16 << 32, 1) + site(256 | 1 << 32, 1, "call void @stub_q()")
    assert shapes(text) == {"_Z1kv": [(16, 16, 1)], "_Z1qv": [(256, 1, 1)]}


def test_direct_launches_count_too():
    launch = "%r = call i32 @cudaLaunchKernel(ptr nonnull @stub_q, i64 %g, i32 1, i64 4294967360, i32 2, ptr null)"
    assert shapes(REGISTERED + f"define void @f(i64 %g) {{\n  {launch}\n  ret void\n}}\n") == {"_Z1qv": [(64, 1, 2)]}


def test_relocatable_code_names_its_kernels_in_a_table():
    entry = '@name = internal constant [6 x i8] c"_Z1kv\\00", section "names", align 1\n@entry = weak constant ' \
            "%struct.__tgt_offload_entry { i64 0, i16 1, i16 2, i32 0, ptr @stub_k, ptr @name, i64 0 }\n"
    assert shapes(entry + site(32 | 1 << 32, 1)) == {"_Z1kv": [(32, 1, 1)]}


def test_the_most_frequent_ones_of_a_kernel_are_taken():
    sizes = [32, 64, 64, 128, 128, 128]
    text = REGISTERED + "".join(site(n | 1 << 32, 1) for n in sizes)
    assert shapes(text) == {"_Z1kv": [(128, 1, 1), (64, 1, 1)]}


def test_what_is_not_constant_or_no_block_is_not_there():
    assert shapes(REGISTERED + site("%g", 1) + site(2048 | 1 << 32, 1)) == {}
