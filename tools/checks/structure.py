#!/usr/bin/env python3
"""Checks the structure of the source tree: include layers, sizes of files, functions and classes, names, and suppressions.

Usage: structure.py [ROOT]. Prints one line for each violation (file, line, rule) and exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

# Who may include whom, besides a layer's own files. None: everything. A file belongs to the longest prefix that fits.
LAYERS = {
    "include": [],
    "src/spi": ["include"],  # what algorithms, transports and stores are written against
    "algorithms": ["include", "src/spi"],
    "src/base": ["include", "src/spi"],
    "src/store": ["include", "src/spi", "src/base"],
    "src/plan": ["include", "src/spi", "src/base"],
    "src/exec": ["include", "src/spi", "src/base", "src/plan"],
    "src/cuda": ["include", "src/spi", "src/base"],  # GPUs; the rest of the library knows them by src/spi/gpu.hpp
    "transports/common": ["include", "src/spi", "src/base"],  # what several transports share
    "transports/*": ["include", "src/spi", "src/base", "transports/common"],  # each folder is a layer of its own
    "transports": ["include", "src/spi", "src/base", "transports/*"],  # the files directly in it: the list of all
    "src/comm": ["include", "src/spi", "src/base", "src/store", "src/plan", "src/exec", "src/cuda", "transports",
                 "transports/*", "algorithms"],
    "src/capi": ["include", "src/spi", "src/base", "src/comm"],
    "bindings": ["include/hocket/hocket.h", "include/hocket/hocket.hpp"],
    "bench": None,
    "tests": None,
    "tools/sgd": ["include/hocket/hocket.hpp", "tools"],  # shows what a user can do: nothing of Hocket but its interface
    "tools": None,
}
# What the pure layers are made of is the standard library, without threads and clocks.
PURE_LAYERS = ["algorithms", "src/plan"]
IMPURE = {"atomic", "barrier", "condition_variable", "future", "latch", "mutex", "semaphore", "shared_mutex", "stop_token",
          "thread", "ctime", "fstream", "filesystem", "random", "poll.h"}
STANDARD_HEADER = re.compile(r"[a-z_0-9]+|(stddef|stdint|stdbool|string|poll)\.h")  # of C++, C and POSIX

SOURCE_FOLDERS = ["include", "src", "transports", "algorithms", "bindings", "bench", "tests", "tools"]
SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".cuh"}
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
MAX_CLASS_FILES = 2  # that define members of one class


def sources(root):
    for folder in SOURCE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                yield path.relative_to(root).as_posix()


# ---- include layers --------------------------------------------------------------------------------------------------


def layer_of(file):
    """The layer that a file belongs to, with the folder's own name in place of '*'; None where there is no such layer."""
    parts = file.split("/")
    if parts[0] == "transports":
        return f"transports/{parts[1]}" if len(parts) > 2 else "transports"
    for layer in ("/".join(parts[:2]), parts[0]):
        if layer in LAYERS:
            return layer
    return None


def allowed(layer):
    return LAYERS["transports/*" if layer.startswith("transports/") and layer not in LAYERS else layer]


def target_of(root, file, name):
    """The file of this tree that an include names, or None for one of another project."""
    if name.startswith("hocket/"):
        return "include/" + name
    if name.split("/")[0] in SOURCE_FOLDERS:
        return name
    beside = (root / file).parent / name
    return beside.resolve().relative_to(root.resolve()).as_posix() if beside.is_file() else None


def include_problem(root, file, name):
    layer = layer_of(file)
    target = target_of(root, file, name)
    if target is None:
        if layer in ("include", "src/spi", *PURE_LAYERS) and not STANDARD_HEADER.fullmatch(name):
            if not (layer == "src/plan" and name.startswith("fmt/")):
                return f"{layer} may include the standard library only, not <{name}>"
        if layer in PURE_LAYERS and name in IMPURE:
            return f"{layer} is pure: no threads, clocks or files, so not <{name}>"
        return None
    below = allowed(layer)
    other = layer_of(target)
    if below is None or other == layer or other in below or target in below:
        return None
    if "transports/*" in below and other is not None and other.startswith("transports/"):
        return None
    return f"{layer} may not include {target}: it may include {', '.join(below) or 'nothing'} and its own files"


def layer_violations(root):
    for file in sources(root):
        if layer_of(file) is None:
            yield f"{file}:1: belongs to no layer; put it into one of {', '.join(LAYERS)}"
            continue
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            problem = include and include_problem(root, file, include.group(1))
            if problem:
                yield f"{file}:{number}: {problem}"


# ---- sizes -----------------------------------------------------------------------------------------------------------


def long_files(root):
    for file in sources(root):
        lines = len((root / file).read_text().splitlines())
        if lines > MAX_FILE_LINES:
            yield f"{file}:1: {lines} lines; a file has at most {MAX_FILE_LINES}"


# What could hold a brace that is none: comments, raw strings, strings, characters, and lines of the preprocessor.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                      r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
BEFORE_FUNCTION = re.compile(r"\s*((public|private|protected)\s*:\s*)*")
SCOPE = re.compile(r"(template\s*<[^{]*>\s*)?(inline\s+|typedef\s+)?(namespace|class|struct|union|enum|extern)\b")
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")


def kind_of_block(head):
    """What a brace opens, told from the text between it and the statement before."""
    without_parentheses = head
    while "(" in without_parentheses:
        shorter = re.sub(r"\([^()]*\)", "", without_parentheses)
        if shorter == without_parentheses:
            break
        without_parentheses = shorter
    if SCOPE.match(head.strip()) and "(" not in without_parentheses:
        return "scope"
    is_value = "=" in re.sub(r"operator\s*\S+", "", without_parentheses)
    return "value" if is_value else "function"


def functions(text):
    """(first line, lines, head, namespaces) of every function that is no part of another one."""
    blank = NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    scopes = []  # of each open brace: its kind, where its head begins, the namespace that it opens
    inside = 0  # how many of them are functions or values
    head_start = 0
    for brace in re.finditer(r"[{};]", blank):
        position = brace.start()
        head = blank[head_start:position]
        if brace.group() == "{":
            kind = "inner" if inside else kind_of_block(head)
            opened = NAMESPACE.search(head) if kind == "scope" else None
            scopes.append((kind, head_start, opened and opened.group(1), head))
            inside += kind != "scope"
        elif brace.group() == "}" and scopes:
            kind, start, _, head = scopes.pop()
            inside -= kind != "scope"
            if kind == "function":
                start = BEFORE_FUNCTION.match(blank, start).end()
                first = blank.count("\n", 0, start) + 1
                namespaces = [scope[2] for scope in scopes if scope[2] is not None]
                yield first, blank.count("\n", start, position) + 1, head.strip(), namespaces
        if not inside:
            head_start = position + 1


def long_functions(root):
    for file in sources(root):
        for first, lines, _, _ in functions((root / file).read_text()):
            if lines > MAX_FUNCTION_LINES:
                yield f"{file}:{first}: a function of {lines} lines; it has at most {MAX_FUNCTION_LINES}"


def class_of(head):
    """The class whose member a function is that is defined outside it; None where it is a member of no class."""
    depth = 0
    for position, character in enumerate(head):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth <= 0:
            member = re.search(r"((?:\w+(?:<[^<>]*>)?::)+)(~?\w+|operator\W+)\s*$", head[:position])
            return re.sub(r"<[^<>]*>", "", member.group(1))[:-2] if member else None
    return None


def scattered_classes(root):
    files = {}  # by class: where members of it are defined
    for file in sources(root):
        if not file.endswith((".cpp", ".cc", ".cu")):
            continue
        for _, _, head, namespaces in functions((root / file).read_text()):
            name = class_of(head)
            if name and "" not in namespaces:  # else it is this file's alone
                files.setdefault("::".join([*namespaces, name]), []).append(file)
    for name, places in files.items():
        places = sorted(set(places))
        if len(places) > MAX_CLASS_FILES:
            yield (f"{places[0]}:1: {name} is defined in {len(places)} files ({', '.join(places)}); "
                   f"a class has at most {MAX_CLASS_FILES}")


# ---- names of one source ---------------------------------------------------------------------------------------------

# Which sources of a target are compiled together depends on options and on what is installed. Where two of them give a name to
# different things, the compiler stops, or, worse, takes an overload that the source did not mean.
TARGETS = [("src/", "transports/", "algorithms/", "include/"), ("tests/unit/",), ("tests/process/",), ("bindings/torch/src/",),
           ("tools/doctor/",), ("tools/plan/",), ("tools/sgd/",)]
COMPILED_ALONE = ("src/exec/kernels/", "src/exec/encode.cpp", "tests/process/support/", "tools/plan/commands/")
FOUND_BY_TYPE = {"PrintTo", "to_json"}  # by GoogleTest and nlohmann-json
NAME = re.compile(r"(?:inline |constexpr |const |thread_local |alignas\(.*?\) )*"
                  r"(?:(?:class|struct|enum class|enum) (\w+)|using (\w+) =|[\w:<>,&*\s\[\]]+?[\s&*](\w+)\s*[({=\[;])")
NO_NAME = ("using namespace ", "using enum ", "template", "namespace", " ", "}", "/", "#", ")")


def names_of(text, own):
    """Of each name that a file gives to something in a namespace: the number of its line, the name with its namespace, and
    for a type that has another name, which. `own`: those in anonymous namespaces, else the others."""
    outer, anonymous = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if named := re.match(r"namespace ([\w:]+) \{", line):
            outer = named[1]
        elif line == "namespace {":
            anonymous = True
        elif line.startswith("}  // namespace"):
            anonymous = False
        elif anonymous == own and outer and line and not line.startswith(NO_NAME) and (name := NAME.match(line)):
            yield number, f"{outer}::{name[1] or name[2] or name[3]}", line if name[2] else None


def shared_names(root):
    """What a source calls its own, and another one of its target too, or a header there in the same namespace or one around."""
    for folders in TARGETS:
        yield from shared_names_of(root, [file for file in sources(root) if file.startswith(folders)])


def shared_names_of(root, files):
    headers, first = {}, {}
    for file in files:
        if file.endswith(".hpp"):
            for _, name, alias in names_of((root / file).read_text(), own=False):
                headers.setdefault(name, (file, alias))
    for file in files:
        if file.endswith(".cpp") and not file.startswith(COMPILED_ALONE):
            for number, name, alias in names_of((root / file).read_text(), own=True):
                *namespaces, last = name.split("::")
                if last in FOUND_BY_TYPE:
                    continue
                around = [headers.get("::".join([*namespaces[:depth], last])) for depth in range(1, len(namespaces) + 1)]
                found = {*around, first.setdefault(name, (file, alias))} - {None}
                # One type may have one more name twice.
                for other in sorted(other for other, same in found if other != file and (same is None or same != alias)):
                    yield f"{file}:{number}: {name} is a name in {other}, too, and both may be compiled together"


# ---- suppressions ----------------------------------------------------------------------------------------------------

SILENCED = re.compile(r"no_sanitize|NOLINT(NEXTLINE|BEGIN)?(?!\(|\w)")


def suppressions(root):
    """Sanitizers are clean without help, and a silenced check is named."""
    for folder in [*SOURCE_FOLDERS, "cmake"]:
        for path in sorted((root / folder).rglob("*supp*")):
            if path.is_file() and path.suffix not in SOURCE_SUFFIXES:
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    if line.strip() and not line.startswith("#"):
                        yield f"{path.relative_to(root)}:{number}: a sanitizer suppression; repair the code instead"
    for file in sources(root):
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            if SILENCED.search(line):
                yield f"{file}:{number}: silences a sanitizer, or clang-tidy without naming the check"


def main(arguments):
    root = Path(arguments[1] if len(arguments) > 1 else ".")
    count = 0
    for check in (layer_violations, long_files, long_functions, scattered_classes, shared_names, suppressions):
        for violation in check(root):
            print(violation)
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
