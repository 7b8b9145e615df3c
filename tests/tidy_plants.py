"""The self-test of tidy.py: a clean little tree, and one planted breach at a time.

Each plant names the rule that must find it, and where. Near misses must find nothing.
"""
import os
import tempfile

CLEAN = {
    "CMakeLists.txt": "add_subdirectory(protocol)\n",
    "protocol/CMakeLists.txt": "file(GLOB s CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)\n",
    "protocol/ids.hpp": "#pragma once\nstruct id { int value; };\n",
    "protocol/ids.cpp": '#include "protocol/ids.hpp"\nint f(id i) { return i.value; }\n',
    "transport/CMakeLists.txt": "add_library(t wire.cpp)\n",
    "transport/wire.cpp": '#include "protocol/ids.hpp"\n#include <chrono>\n',
    "actors/CMakeLists.txt": "file(GLOB_RECURSE s ${CMAKE_SOURCE_DIR}/actors/*.cpp)\n",
    "actors/deep/shell.cpp": '#include "protocol/ids.hpp"\n',
}

LONG_BODY = "  step();\n" * 70

# (rule, file, line, text of the file)
PLANTS = [
    ("layer", "protocol/ids.cpp", 2,
     '#include "protocol/ids.hpp"\n#include "gpu/device.hpp"\n'),
    ("layer", "transport/wire.cpp", 1, '#include "protocol/messages.hpp"\n'),
    ("layer", "transport/wire.cpp", 1, '#include "gpu/device.hpp"\n'),
    ("layer", "actors/deep/shell.cpp", 1, '#include "tests/fakes.hpp"\n'),
    ("include path", "protocol/ids.cpp", 2, '#include "protocol/ids.hpp"\n#include "ids.hpp"\n'),
    ("file size", "protocol/ids.cpp", 401, "int x;\n" * 401),
    ("function size", "protocol/ids.cpp", 2,
     "namespace n {\nint f(int a)\n  noexcept {\n" + LONG_BODY + "}\n}\n"),
    ("function size", "protocol/ids.cpp", 2,
     "struct s {\nvoid f() const {\n  if (a) {\n" + LONG_BODY + "  }\n}\n};\n"),
    ("function size", "protocol/ids.cpp", 1, "s::s() : a_(1) {\n" + LONG_BODY + "}\n"),
    ("function size", "tests/tool.py", 1, "def f():\n" + "    pass\n" * 60),
    ("columns", "protocol/ids.cpp", 1, "int " + "x" * 97 + ";\n"),
    ("purity", "protocol/ids.cpp", 1, "#include <mutex>\n"),
    ("purity", "protocol/ids.cpp", 1, "#include <sys/socket.h>\n"),
    ("purity", "protocol/ids.cpp", 1, "auto t = std::chrono::steady_clock::now();\n"),
    ("purity", "protocol/ids.cpp", 1, "auto t = time(nullptr);\n"),
    ("purity", "protocol/ids.cpp", 1, "auto t = std::getenv(\"A\");\n"),
    ("file name", "actors/node_manager.cpp", 1, "\n"),
    ("file name", "actors/string_utils.cpp", 1, "\n"),
    ("file name", "actors/test_helper.cpp", 1, "\n"),
    ("sleep in a test", "tests/actors/CMakeLists_test.cpp", 1, "std::this_thread::sleep_for(d);\n"),
    ("leftover", "docs/a.md", 2, "# A\nTODO: write\n"),
    ("leftover", "protocol/ids.cpp", 1, "// FIXME later\n"),
    ("machine path", "deploy/run.sh", 2, "#!/bin/sh\ncd /home/someone/baton\n"),
    ("dead file", "protocol/lonely.hpp", 1, "#pragma once\n"),
    ("dead file", "transport/orphan.cpp", 1, "\n"),
    ("wall clock", "actors/deep/shell.cpp", 1, "auto t = std::chrono::system_clock::now();\n"),
]

# (file, text): nothing here may be found.
NEAR_MISSES = [
    ("protocol/ids.cpp",
     '// std::mutex, time(0), TODOs and getenv( in a comment\nauto s = "rand(";\n'),
    ("protocol/ids.cpp", "auto n = now.time(1) + run_time(2) + 1'000'000;\n"),
    ("protocol/ids.cpp", "constexpr int table[] = {\n" + "  1,\n" * 70 + "};\n"),
    ("protocol/ids.cpp", "class big {\n" + "  int f(int a) { return a; }\n" * 70 + "};\n"),
    ("protocol/ids.cpp", 'auto r = R"x(\nint f() {\n' + "\n" * 70 + '})x";\n'),
    ("actors/deep/shell.cpp", "auto t = system_clock::now(); // wall clock: shown to people\n"),
    ("deploy/run.sh", "#!/bin/sh\nmktemp -d /tmp/a.XXXXXX; ls $HOME/" + "work/ build/home/\n"),
]


def plant(changes, find_breaches):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN, **changes}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return find_breaches(root)


def run(find_breaches):
    """Prints what went wrong; returns the exit code."""
    wrong = [f"the clean tree: found {f}" for f in plant({}, find_breaches)]
    for rule, path, line, text in PLANTS:
        found = {(f[2], f[0], f[1]) for f in plant({path: text}, find_breaches)}
        if (rule, path, line) not in found:
            wrong.append(f"planted {rule} at {path}:{line}: found {sorted(found)}")
    for path, text in NEAR_MISSES:
        found = [f for f in plant({path: text}, find_breaches) if f[0] == path]
        if found:
            wrong.append(f"near miss in {path}: found {found}")
    for line in wrong:
        print(line)
    print(f"tidy: {len(PLANTS)} plants, {len(NEAR_MISSES)} near misses, {len(wrong)} wrong")
    return 1 if wrong else 0
