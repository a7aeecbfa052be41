// Which kernels and variables the program has: device objects tell theirs, host objects tell what they call them.
#include <cstdlib>
#include <cstring>
#include <map>
#include <shared_mutex>
#include <unordered_map>

#include "checks.h"
#include "runtime.h"
#include "tuning.h"

namespace {

using reactant::Function;

struct Variable { std::string name; const char *identity; const ReactantSymbol *symbol; };

struct Registry {
    std::shared_mutex mutex;
    std::vector<const ReactantModule *> modules;
    std::unordered_map<const void *, Function *> functions;         // by stub
    std::unordered_map<const void *, Variable> variables;           // by host shadow
    std::vector<std::pair<char *, char *>> managed;                 // sections of managed variables
    std::map<uintptr_t, const ReactantSymbol *> addresses;
    size_t addressed = 0;                                           // modules that are in `addresses`
    std::map<std::string, Function *> named;
    std::unordered_map<const ReactantKernel *, Function *> rows;
};

thread_local std::vector<const ReactantModule *> *listed = nullptr;

Registry &registry() {
    static Registry *const made = new Registry;
    return *made;
}

// identity nullptr: relocatable code, whose names are those of the whole program.
template <class Row, class Rows>
const Row *look_up(const char *identity, const std::string &name, Rows rows) {
    for (const ReactantModule *module : registry().modules) {
        if (identity && strcmp(module->identity, identity) != 0) continue;
        auto [first, count] = rows(*module);
        for (uint64_t k = 0; k < count; ++k)
            if (name == first[k].name) return &first[k];
    }
    return nullptr;
}

const ReactantKernel *kernel_named(const char *identity, const std::string &name) {
    return look_up<ReactantKernel>(identity, name, [](const ReactantModule &m) {
        return std::pair(m.kernels, m.kernel_count);
    });
}

struct Entry {          // what clang writes into llvm_offload_entries
    uint64_t reserved; uint16_t version, kind; uint32_t flags; void *address; const char *name; uint64_t size, data;
    void *auxiliary;
};

}  // namespace

namespace reactant {

Function *function_of(const void *stub) {
    thread_local const void *last_stub = nullptr;
    thread_local Function *last = nullptr;
    if (stub == last_stub && last) return last;
    Registry &r = registry();
    std::shared_lock lock(r.mutex);
    auto found = r.functions.find(stub);
    if (found == r.functions.end()) return nullptr;
    last_stub = stub;
    return last = found->second;
}

const ReactantKernel *kernel_of(Function &function) {
    const ReactantKernel *kernel = function.kernel.load(std::memory_order_acquire);
    if (kernel) return kernel;
    std::shared_lock lock(registry().mutex);
    kernel = kernel_named(function.identity, function.name);
    function.kernel.store(kernel, std::memory_order_release);
    return kernel;
}

Function *function_named(const char *name) {
    Registry &r = registry();
    std::unique_lock lock(r.mutex);
    auto found = r.named.find(name);
    if (found != r.named.end()) return found->second;
    const ReactantKernel *kernel = kernel_named(nullptr, name);
    if (!kernel) return nullptr;
    auto *made = new Function;
    made->stub = nullptr, made->name = name, made->identity = nullptr, made->kernel = kernel;
    return r.named[name] = made;
}

Function *function_of_row(const ReactantKernel *kernel) {
    Registry &r = registry();
    std::unique_lock lock(r.mutex);
    Function *&made = r.rows[kernel];
    if (!made) {
        made = new Function;
        made->stub = nullptr, made->name = kernel->name, made->identity = nullptr, made->kernel = kernel;
    }
    return made;
}

const ReactantSymbol *symbol_of(const void *shadow) {
    Registry &r = registry();
    std::unique_lock lock(r.mutex);
    auto found = r.variables.find(shadow);
    if (found == r.variables.end()) return nullptr;
    Variable &variable = found->second;
    if (!variable.symbol)
        variable.symbol = look_up<ReactantSymbol>(variable.identity, variable.name, [](const ReactantModule &m) {
            return std::pair(m.symbols, m.symbol_count);
        });
    return variable.symbol;
}

bool symbol_at(const void *address, ReactantSymbol *found) {
    Registry &r = registry();
    std::unique_lock lock(r.mutex);
    for (auto [first, last] : r.managed)
        if ((char *)address >= first && (char *)address < last) {
            *found = ReactantSymbol{"", first, (uint64_t)(last - first), REACTANT_SYMBOL_MANAGED, 0};
            return true;
        }
    for (; r.addressed < r.modules.size(); ++r.addressed) {
        const ReactantModule &module = *r.modules[r.addressed];
        for (uint64_t k = 0; k < module.symbol_count; ++k)
            r.addresses[(uintptr_t)module.symbols[k].address] = &module.symbols[k];
    }
    auto row = r.addresses.upper_bound((uintptr_t)address);
    if (row == r.addresses.begin()) return false;
    --row;
    if ((uintptr_t)address >= row->first + row->second->size) return false;
    *found = *row->second;
    return true;
}

std::string tuned_modules() {
    std::shared_lock lock(registry().mutex);
    std::string found;
    for (const ReactantModule *module : registry().modules)
        if (module->flags) found += std::string(module->identity) + " " + std::to_string(module->flags) + "\n";
    return found;
}

void list_modules(std::vector<const ReactantModule *> *into) { listed = into; }

void forget(const ReactantModule *module) {
    forget_sites(module);
    Registry &r = registry();
    std::unique_lock lock(r.mutex);
    std::vector<const ReactantModule *> rest;
    for (const ReactantModule *each : r.modules)
        if (each != module) rest.push_back(each);
    r.modules.swap(rest);
    r.addresses.clear(), r.addressed = 0, r.named.clear(), r.rows.clear();
}

}  // namespace reactant

using namespace reactant;

namespace {

void add_function(const void *stub, const char *name, const char *identity) {
    Registry &r = registry();
    std::unique_lock lock(r.mutex);
    auto *function = new Function;
    function->stub = stub, function->name = name, function->identity = identity;
    auto [row, fresh] = r.functions.emplace(stub, function);
    if (!fresh) delete function;        // a template's instance of several translation units: one is as good
}

}  // namespace

extern "C" {

extern const int reactant_image;
__attribute__((used)) const int *const reactant_image_used = &reactant_image;

uint32_t reactant_zero = 0;

void reactant_register_module(const ReactantModule *module) {
    if (module->version != REACTANT_ABI_VERSION) {
        fprintf(stderr, "reactant: an object was compiled by another version (%u, the runtime has %u): compile it again\n",
                module->version, REACTANT_ABI_VERSION);
        abort();
    }
    std::unique_lock lock(registry().mutex);
    registry().modules.push_back(module);
    if (listed) listed->push_back(module);
    for (uint64_t k = 0; k < module->kernel_count; ++k)
        if (module->kernels[k].flags & REACTANT_KERNEL_CHECKED) check_at_end();
}

// Called by clang's constructors. The wrapper's third word is the GPU binary: the identity of the translation unit.
void **__cudaRegisterFatBinary(void *wrapper) {
    struct Wrapper { int magic, version; const char *data; void *unused; };
    return (void **)new const char *(((Wrapper *)wrapper)->data);
}

void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}

int __cudaRegisterFunction(void **handle, const char *stub, char *, const char *name, int, void *, void *, void *, void *,
                           int *) {
    add_function(stub, name, *(const char **)handle);
    return 0;
}

void __cudaRegisterVar(void **handle, char *shadow, char *, const char *name, int, size_t, int, int) {
    std::unique_lock lock(registry().mutex);
    registry().variables[shadow] = Variable{name, *(const char **)handle, nullptr};
}

// Called by the constructor that is linked into each executable and shared library.
void reactant_register_image(const void *entries, const void *end, char *managed, char *managed_end) {
    for (auto *entry = (const Entry *)entries; entry < (const Entry *)end; ++entry) {
        if (entry->kind != 2 || !entry->name) continue;             // 2: CUDA
        if (entry->size == 0) { add_function(entry->address, entry->name, nullptr); continue; }
        std::unique_lock lock(registry().mutex);
        registry().variables[entry->address] = Variable{entry->name, nullptr, nullptr};
    }
    std::unique_lock lock(registry().mutex);
    if (managed < managed_end) registry().managed.emplace_back(managed, managed_end);
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
    return call([&] {
        ReactantSymbol managed;
        const ReactantSymbol *found = symbol_of(symbol);
        if (!address) return cudaErrorInvalidValue;
        if (found) *address = found->address;
        else if (symbol_at(symbol, &managed) && managed.flags & REACTANT_SYMBOL_MANAGED) *address = (void *)symbol;
        else return cudaErrorInvalidSymbol;
        return cudaSuccess;
    });
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol) {
    return call([&] {
        ReactantSymbol managed;
        const ReactantSymbol *found = symbol_of(symbol);
        if (!bytes) return cudaErrorInvalidValue;
        if (found) *bytes = found->size;
        else if (symbol_at(symbol, &managed) && managed.flags & REACTANT_SYMBOL_MANAGED)
            *bytes = (size_t)((char *)managed.address + managed.size - (char *)symbol);
        else return cudaErrorInvalidSymbol;
        return cudaSuccess;
    });
}

}
