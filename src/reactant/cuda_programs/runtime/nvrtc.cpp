// NVRTC: the compiler that made this program compiles sources for it, as a process of its own. REACTANT_PYTHON names the
// Python that has it, where it is not the one that built the runtime library.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "reactant_program/nvrtc.h"

extern char **environ;

struct _nvrtcProgram {
    std::string source, name, image, log;
    std::vector<std::string> header_names, headers, expressions, lowered;
    bool compiled = false;
};

namespace {

// A folder for one compilation, gone with all that is in it.
struct Folder {
    std::string path;
    std::vector<std::string> files;
    Folder() {
        const char *where = getenv("TMPDIR");
        path = std::string(where && *where ? where : "/tmp") + "/reactant-nvrtc-XXXXXX";
        if (!mkdtemp(&path[0])) path.clear();
    }
    ~Folder() {
        for (auto file = files.rbegin(); file != files.rend(); ++file) remove(file->c_str());
        if (!path.empty()) rmdir(path.c_str());
    }
    std::string at(const std::string &name) {
        for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
            const std::string part = path + "/" + name.substr(0, slash);
            if (mkdir(part.c_str(), 0700) == 0) files.push_back(part);
        }
        files.push_back(path + "/" + name);
        return files.back();
    }
    bool put(const std::string &name, const std::string &text) {
        FILE *file = fopen(at(name).c_str(), "wb");
        if (!file) return false;
        const bool whole = fwrite(text.data(), 1, text.size(), file) == text.size();
        return fclose(file) == 0 && whole;
    }
    static std::string content(const std::string &path) {
        std::string text;
        if (FILE *file = fopen(path.c_str(), "rb")) {
            char part[65536];
            for (size_t count; (count = fread(part, 1, sizeof part, file)) > 0;) text.append(part, count);
            fclose(file);
        }
        return text;
    }
};

int run(const std::vector<std::string> &words, const std::string &log) {
    std::vector<char *> arguments;
    for (const std::string &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t process;
    const int error = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) return -1;
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The name of the source as a file within the folder.
std::string plain(const std::string &name) {
    std::string made;
    for (char c : name) made += c == '/' || c == '\n' ? '_' : c;
    return made.empty() ? "default_program" : made;
}

nvrtcResult compile(_nvrtcProgram &program, int count, const char *const *options) {
    Folder folder;
    if (folder.path.empty()) return NVRTC_ERROR_PROGRAM_CREATION_FAILURE;
    const std::string source = plain(program.name) + (program.name.size() > 3 && program.name.substr(program.name.size() - 3) == ".cu" ? "" : ".cu");
    std::string names;
    for (const std::string &expression : program.expressions) names += expression + "\n";
    bool written = folder.put(source, program.source) && folder.put("names", names);
    for (size_t k = 0; k < program.headers.size(); ++k) written = folder.put(program.header_names[k], program.headers[k]) && written;
    if (!written) return NVRTC_ERROR_PROGRAM_CREATION_FAILURE;
    const std::string image = folder.at("image"), lowered = folder.at("names.lowered"), log = folder.at("log");
    std::vector<std::string> words;
    if (const char *python = getenv("REACTANT_PYTHON"); python && *python) words = {python, "-m", "reactant", "nvcc"};
    else words = {REACTANT_NVCC};
    words.insert(words.end(), {"-cubin", "-I" + folder.path, "--reactant-names=" + folder.path + "/names"});
    for (int k = 0; k < count; ++k) words.push_back(options[k]);
    words.insert(words.end(), {folder.path + "/" + source, "-o", image});
    const int status = run(words, log);
    program.log = Folder::content(log);
    for (size_t at; (at = program.log.find(folder.path + "/")) != std::string::npos;) program.log.erase(at, folder.path.size() + 1);
    program.compiled = true;
    program.lowered.clear();
    if (status == 0) {
        program.image = Folder::content(image);
        std::string rest = Folder::content(lowered);
        for (size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) program.lowered.push_back(rest.substr(0, end));
        return NVRTC_SUCCESS;
    }
    if (status < 0 || status > 125) program.log += std::string("the compiler cannot be started: ") + words[0] + " (REACTANT_PYTHON names another Python)\n";
    if (program.log.find("reactant nvcc: error: ") == 0 && program.log.find("option") != std::string::npos) return NVRTC_ERROR_INVALID_OPTION;
    return NVRTC_ERROR_COMPILATION;
}

nvrtcResult size(const std::string &text, size_t *bytes) { return bytes ? (*bytes = text.size() + 1, NVRTC_SUCCESS) : NVRTC_ERROR_INVALID_INPUT; }
nvrtcResult copy(const std::string &text, char *to) { return to ? (memcpy(to, text.c_str(), text.size() + 1), NVRTC_SUCCESS) : NVRTC_ERROR_INVALID_INPUT; }

constexpr int architectures[] = {50, 52, 60, 61, 70, 75, 80, 86, 89, 90};

}  // namespace

extern "C" {

const char *nvrtcGetErrorString(nvrtcResult result) {
    static const char *const names[] = {
        "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
        "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR"};
    return (unsigned)result < sizeof names / sizeof *names ? names[result] : "NVRTC_ERROR unknown";
}
nvrtcResult nvrtcVersion(int *major, int *minor) { return major && minor ? (*major = 12, *minor = 4, NVRTC_SUCCESS) : NVRTC_ERROR_INVALID_INPUT; }
nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    return count ? (*count = sizeof architectures / sizeof *architectures, NVRTC_SUCCESS) : NVRTC_ERROR_INVALID_INPUT;
}
nvrtcResult nvrtcGetSupportedArchs(int *numbers) { return numbers ? (memcpy(numbers, architectures, sizeof architectures), NVRTC_SUCCESS) : NVRTC_ERROR_INVALID_INPUT; }

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int count, const char *const *headers,
                               const char *const *names) {
    if (!program || !source || count < 0 || (count && (!headers || !names))) return NVRTC_ERROR_INVALID_INPUT;
    auto *made = new _nvrtcProgram;
    made->source = source, made->name = name ? name : "default_program";
    for (int k = 0; k < count; ++k) made->headers.push_back(headers[k]), made->header_names.push_back(names[k]);
    *program = made;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    if (!program || !*program) return NVRTC_ERROR_INVALID_PROGRAM;
    delete *program;
    *program = nullptr;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    return count < 0 || (count && !options) ? NVRTC_ERROR_INVALID_INPUT : compile(*program, count, options);
}

#define REACTANT_TEXT(NAME, FIELD)                                                                                                     \
    nvrtcResult nvrtcGet##NAME##Size(nvrtcProgram program, size_t *bytes) { return program ? size(program->FIELD, bytes) : NVRTC_ERROR_INVALID_PROGRAM; } \
    nvrtcResult nvrtcGet##NAME(nvrtcProgram program, char *to) { return program ? copy(program->FIELD, to) : NVRTC_ERROR_INVALID_PROGRAM; }
REACTANT_TEXT(PTX, image)
REACTANT_TEXT(CUBIN, image)
REACTANT_TEXT(ProgramLog, log)

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *expression) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!expression) return NVRTC_ERROR_INVALID_INPUT;
    if (program->compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    program->expressions.push_back(expression);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *expression, const char **name) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!expression || !name) return NVRTC_ERROR_INVALID_INPUT;
    if (!program->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    for (size_t k = 0; k < program->lowered.size(); ++k)
        if (program->expressions[k] == expression) {
            *name = program->lowered[k].c_str();
            return NVRTC_SUCCESS;
        }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

}
