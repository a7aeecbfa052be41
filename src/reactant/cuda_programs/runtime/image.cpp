// In each executable and each shared library: tells the runtime what clang wrote into sections of this image.
extern "C" {
void reactant_register_image(const void *entries, const void *end, char *managed, char *managed_end);
extern const char first_entry[] __asm__("__start_llvm_offload_entries") __attribute__((weak, visibility("hidden")));
extern const char last_entry[] __asm__("__stop_llvm_offload_entries") __attribute__((weak, visibility("hidden")));
extern char first_managed[] __asm__("__start_reactant_managed") __attribute__((weak, visibility("hidden")));
extern char last_managed[] __asm__("__stop_reactant_managed") __attribute__((weak, visibility("hidden")));
extern const int reactant_image;
const int reactant_image = 1;       // the registry asks for it, and so this file is linked out of the archive
}
__attribute__((constructor(101))) static void image() {
    reactant_register_image(first_entry, last_entry, first_managed, last_managed);
}
