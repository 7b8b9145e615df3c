#!/usr/bin/env python3
"""House style as a test: checks the files that git tracks and says what to do about each breach.

    tests/tidy.py              check this repository; exit 1 if anything was found
    tests/tidy.py --self-test  plant one breach of each rule in a scratch folder, see each found
    tests/tidy.py --root DIR   check another tree

A finding reads `file:line: rule: what to do`. The rules are functions named check_*.
"""
import argparse
import ast
import fnmatch
import os
import re
import subprocess
import sys

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
COLUMNS_MAX = 100

HEADERS = (".hpp", ".h", ".cuh", ".inl")
CPP = HEADERS + (".cpp", ".cu")
SIZED = CPP + (".py",)
LAYERS = ("protocol", "transport", "gpu", "actors")
PRODUCT = LAYERS + ("deploy",)
# Files that must spell the banned words to ban them.
SELF = ("tests/tidy.py", "tests/tidy_plants.py")

VALUE_TYPES = {f"protocol/{name}.hpp" for name in
               ("ids", "fields", "limits", "clock", "outcome", "head_map", "assert")}
SEES = {
    "protocol": lambda path: path.startswith("protocol/"),
    "transport": lambda path: path.startswith("transport/") or path in VALUE_TYPES,
    "gpu": lambda path: path.startswith("gpu/") or path in VALUE_TYPES,
    "actors": lambda path: path.split("/")[0] in LAYERS,
}
LAYER_ADVICE = {
    "protocol": "protocol/ includes nothing of ours outside protocol/",
    "transport": "transport/ includes itself and protocol's value types only",
    "gpu": "gpu/ includes itself and protocol's value types only",
    "actors": "actors/ includes protocol/, transport/, gpu/ and actors/ only",
}

IMPURE_INCLUDES = re.compile(
    r"(chrono|thread|mutex|shared_mutex|condition_variable|future|random|iostream|fstream"
    r"|filesystem|ctime|time\.h|unistd\.h|pthread\.h|sys/.*|netinet/.*|arpa/.*|netdb\.h"
    r"|caf/.*|uc[ptsm]/.*|cuda.*|nccl.*)$")
IMPURE_NAMES = re.compile(
    r"std::(?:chrono|thread|mutex|random_device|mt19937\w*|async|[io]?fstream|c(?:out|err|in))\b"
    r"|(?<![\w.>])(?:time|s?rand|getenv|socket|clock_gettime|gettimeofday)\s*\(")
SLEEPS = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b")
LEFTOVERS = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.})/])/(?:work|home|root)/")
POOR_NAMES = re.compile(r"utils?(?![a-z])|manager|helper", re.IGNORECASE)
WALL_CLOCK_WHY = "wall clock:"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT_OR_LITERAL = re.compile(
    r'R"(?P<mark>[^()\s\\]{0,16})\((?:.|\n)*?\)(?P=mark)"'
    r"|//(?:[^\n\\]|\\.|\\\n)*|/\*(?:.|\n)*?\*/"
    r'|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)*\'')


class Source:
    """One tracked text file: its lines as written, and its code without comments and literals."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.suffix = os.path.splitext(path)[1]
        self.layer = path.split("/")[0]
        self.is_cpp = self.suffix in CPP
        self.code = blank(text) if self.is_cpp else text
        self.includes = []
        if self.is_cpp:
            for number, line in enumerate(self.lines, 1):
                match = INCLUDE.match(line)
                if match:
                    self.includes.append((number, match.group(1), match.group(2)))


def blank(text):
    """The same text with comments and literals turned to spaces; positions stay."""
    return COMMENT_OR_LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def tracked_files(root):
    """Paths relative to root: git's list, or every file where there is no repository."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False)
    if git.returncode == 0:
        return sorted(set(filter(None, git.stdout.decode().split("\0"))))
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", "run", ".git", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def read_sources(root):
    sources = []
    for path in tracked_files(root):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                sources.append(Source(path, file.read()))
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # not text, or deleted in the working tree
    return sources


def matches(pattern, text):
    """(line number, matched text) of every match."""
    return [(text.count("\n", 0, m.start()) + 1, m.group()) for m in pattern.finditer(text)]


# -- rules about one file -------------------------------------------------------------------------

def check_layers(source):
    if source.layer not in SEES:
        return
    for number, quote, path in source.includes:
        ours = path.split("/")[0] in LAYERS + ("tests",) and "/" in path
        if ours and not SEES[source.layer](path):
            yield number, "layer", f"remove {path}: {LAYER_ADVICE[source.layer]}"
        elif quote == '"' and not ours:
            yield number, "include path", f'write "{path}" from the repository root, or use <>'


def check_size(source):
    if source.suffix in SIZED and len(source.lines) > FILE_LINES_MAX:
        yield (FILE_LINES_MAX + 1, "file size",
               f"{len(source.lines)} lines; split it so that each part has at most"
               f" {FILE_LINES_MAX}")


def check_columns(source):
    script = source.lines and source.lines[0].startswith("#!")
    if source.suffix not in SIZED and not script and not source.path.endswith("CMakeLists.txt"):
        return
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, "columns", f"{len(line)} columns; wrap at {COLUMNS_MAX}"


def check_functions(source):
    if source.is_cpp:
        spans = cpp_functions(source.code)
    elif source.suffix == ".py":
        tree = ast.parse(source.text)
        spans = [(node.lineno, node.end_lineno) for node in ast.walk(tree)
                 if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    else:
        return
    for first, last in spans:
        if last - first + 1 > FUNCTION_LINES_MAX:
            yield (first, "function size",
                   f"{last - first + 1} lines; split it to at most {FUNCTION_LINES_MAX}")


def cpp_functions(code):
    """(first, last) line of each function body that lies in no other function.

    A brace opens a function when what precedes it, back to the last `;`, `{` or `}`, has a
    parameter list and does not begin like a namespace, a type or an initialiser.
    """
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                  code, flags=re.MULTILINE)
    open_braces, spans, head_start, inside = [], [], 0, 0
    for match in re.finditer(r"[;{}]", code):
        position, mark = match.start(), match.group()
        if mark == "{":
            head = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "",
                          code[head_start:position])
            is_function = inside == 0 and opens_function(head)
            open_braces.append((is_function, position - len(head)))
            inside += is_function
        elif mark == "}" and open_braces:
            is_function, start = open_braces.pop()
            inside -= is_function
            if is_function:
                spans.append((code.count("\n", 0, start) + 1, code.count("\n", 0, position) + 1))
        head_start = position + 1
    return spans


def opens_function(head):
    head = re.sub(r"^template\s*<(?:[^<>]|<[^<>]*>)*>\s*", "", head.strip())
    if re.match(r"(?:inline\s+)?(?:namespace|struct|class|union|enum|extern\s*$)", head):
        return False
    return "(" in head and not re.search(r"(?:=|,|\(|return)\s*$", head)


def check_purity(source):
    if source.layer != "protocol" or not source.is_cpp:
        return
    for number, _, path in source.includes:
        if IMPURE_INCLUDES.match(path):
            yield (number, "purity", f"remove <{path}>: protocol/ has no clock, thread, chance or"
                   " I/O; pass values in, return effects")
    for number, found in matches(IMPURE_NAMES, source.code):
        yield (number, "purity", f"remove `{found.strip()}`: protocol/ has no clock, thread,"
               " chance or I/O; pass values in, return effects")


def check_names(source):
    if POOR_NAMES.search(os.path.basename(source.path)):
        yield 1, "file name", "name the file for what is in it"


def check_words(source):
    if source.path in SELF:
        return
    for number, found in matches(LEFTOVERS, source.text):
        yield number, "leftover", f"do what `{found}` says, or delete it"
    for number, found in matches(MACHINE_PATHS, source.text):
        yield number, "machine path", f"`{found}` is a developer's machine; derive the path"
    if source.is_cpp and source.layer == "tests":
        for number, found in matches(SLEEPS, source.code):
            yield number, "sleep in a test", f"wait for an event instead of `{found}`"


def check_wall_clock(source):
    if source.layer != "actors" or not source.is_cpp:
        return
    for number, _ in matches(re.compile(r"\bsystem_clock\b"), source.code):
        if WALL_CLOCK_WHY not in source.lines[number - 1]:
            yield (number, "wall clock", "decide by the actor's clock; for a time shown to people"
                   f" only, say so on the line: `// {WALL_CLOCK_WHY} <why>`")


# -- rules about the tree -------------------------------------------------------------------------

def check_dead_headers(sources):
    included = {path for source in sources for _, _, path in source.includes}
    for source in sources:
        if source.suffix in HEADERS and source.path not in included:
            yield source.path, 1, "dead file", "nothing includes this header: use it or delete it"


def check_dead_sources(sources):
    lists = {os.path.dirname(source.path): source.text for source in sources
             if os.path.basename(source.path) == "CMakeLists.txt"}
    for source in sources:
        if source.suffix in (".cpp", ".cu") and not is_built(source.path, lists):
            yield source.path, 1, "dead file", "no CMakeLists.txt builds it: list it or delete it"


def is_built(path, lists):
    """True when a CMakeLists.txt in a folder above globs the file or names it."""
    folder = os.path.dirname(path)
    while True:
        if folder in lists and names_file(lists[folder], folder, path):
            return True
        if not folder:
            return False
        folder = os.path.dirname(folder)


def names_file(text, folder, path):
    recursive = "GLOB_RECURSE" in text
    for word in re.findall(r'[^\s()"]+', re.sub(r"#.*", "", text)):
        from_root = re.sub(r"^\$\{(?:CMAKE|PROJECT|baton)_SOURCE_DIR\}/", "", word)
        if from_root == word:
            word = re.sub(r"^\$\{CMAKE_CURRENT_(?:SOURCE|LIST)_DIR\}/", "", word)
            from_root = os.path.normpath(os.path.join(folder, word))
        if from_root == path:
            return True
        if "*" in from_root and fnmatch.fnmatch(path, from_root):
            if recursive or from_root.count("/") == path.count("/"):
                return True
    return False


FILE_RULES = (check_layers, check_size, check_columns, check_functions, check_purity, check_names,
              check_words, check_wall_clock)
TREE_RULES = (check_dead_headers, check_dead_sources)


def find_breaches(sources):
    """Every finding as (path, line, rule, what to do), in file order."""
    found = [(source.path, *finding) for source in sources for rule in FILE_RULES
             for finding in rule(source) or ()]
    found += [finding for rule in TREE_RULES for finding in rule(sources)]
    return sorted(found)


def print_sizes(sources):
    sizes = sorted((len(s.lines), s.path) for s in sources if s.suffix in SIZED)
    if not sizes:
        return
    lines = [size for size, _ in sizes]
    print(f"tidy: {len(sizes)} source files, {sum(lines)} lines; median {lines[len(lines) // 2]},"
          f" p90 {lines[len(lines) * 9 // 10]}, largest {lines[-1]} ({sizes[-1][1]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    options = parser.parse_args()
    if options.self_test:
        import tidy_plants
        return tidy_plants.run(lambda root: find_breaches(read_sources(root)))
    sources = read_sources(os.path.abspath(options.root))
    breaches = find_breaches(sources)
    for path, line, rule, advice in breaches:
        print(f"{path}:{line}: {rule}: {advice}")
    print_sizes(sources)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
