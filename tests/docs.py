#!/usr/bin/env python3
"""Documentation as a test: what README.md and docs/*.md point to must exist.

    tests/docs.py              check this repository; exit 1 if anything was found
    tests/docs.py --self-test  check texts that are wrong on purpose, see each breach found
    tests/docs.py --root DIR   check another tree

Checked are links to files and to headings, and paths named in backticks or code blocks that begin
with a folder of the repository. A finding reads `file:line: what: why`.
"""
import argparse
import glob
import os
import re
import sys
import tempfile

FOLDERS = ("actors", "deploy", "docs", "gpu", "protocol", "tests", "transport")
PATH = re.compile(r"(?<![\w./-])((?:" + "|".join(FOLDERS) + r")/[\w.*/-]*[\w*/])")
# Programs and reports live here once they are built; their sources are what must exist.
BUILT_TESTS = re.compile(r"build/[\w-]+/tests/(\w+)/(\w+)")
BUILD = re.compile(r"build/[\w./-]+")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`]+)`")


def heading_anchors(text):
    """Anchors of a page's headings: lower case, spaces to dashes, other signs dropped."""
    found = set()
    for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", title.strip().lower())
        found.add(kept.replace(" ", "-"))
    return found


def check_link(root, page, target):
    """Why the link is broken, or None."""
    if re.match(r"[a-z]+://|mailto:", target):
        return None
    path, _, anchor = target.partition("#")
    file = os.path.normpath(os.path.join(root, os.path.dirname(page), path)) if path \
        else os.path.join(root, page)
    if not os.path.exists(file):
        return "no such file"
    if anchor and file.endswith(".md"):
        with open(file, encoding="utf-8") as linked:
            if anchor not in heading_anchors(linked.read()):
                return "no such heading"
    return None


def check_built(root, text):
    """Test programs that are named in the build folder must have their folder of tests."""
    for folder, program in BUILT_TESTS.findall(text):
        folder_exists = os.path.isfile(os.path.join(root, "tests", folder, "CMakeLists.txt"))
        if not folder_exists:
            yield f"build/.../tests/{folder}/{program}", f"tests/{folder} builds nothing"


def named_paths(text):
    return PATH.findall(BUILD.sub(" ", text))


def check_page(root, page, text):
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
            continue
        code = [line] if in_code else SPAN.findall(line)
        for piece in code:
            for path in named_paths(piece):
                if not glob.glob(os.path.join(root, path)):
                    yield number, path, "no such file"
            for name, why in check_built(root, piece):
                yield number, name, why
        for target in [] if in_code else LINK.findall(line):
            why = check_link(root, page, target)
            if why:
                yield number, target, why


def pages(root):
    found = ["README.md"] + sorted(glob.glob("docs/*.md", root_dir=root))
    return [page for page in found if os.path.isfile(os.path.join(root, page))]


def check(root):
    findings = []
    for page in pages(root):
        with open(os.path.join(root, page), encoding="utf-8") as file:
            for number, what, why in check_page(root, page, file.read()):
                findings.append(f"{page}:{number}: {what}: {why}")
    return findings


def self_test():
    """Each planted breach must be found, and nothing else."""
    text = ("# A page\n[good](docs/b.md#part-two) [bad](docs/none.md) [bad](docs/b.md#part-one)\n"
            "[out](https://example.org/x) `deploy/none.json` `deploy/*.json` `x/deploy/none`\n"
            "```\nbuild/release/baton up deploy/gone.json\n"
            "build/release/tests/none/none_tests\n```\n")
    expected = [(2, "docs/none.md", "no such file"), (2, "docs/b.md#part-one", "no such heading"),
                (3, "deploy/none.json", "no such file"), (5, "deploy/gone.json", "no such file"),
                (6, "build/.../tests/none/none_tests", "tests/none builds nothing")]
    with tempfile.TemporaryDirectory() as root:
        for path, content in (("docs/b.md", "## Part two\n"), ("deploy/a.json", "{}")):
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(content)
        found = list(check_page(root, "README.md", text))
    for wrong in [f for f in expected if f not in found] + [f for f in found if f not in expected]:
        print(f"self-test: {wrong}")
    return 0 if found == expected else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    above_tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    parser.add_argument("--root", default=os.path.normpath(above_tests))
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    findings = check(options.root)
    for finding in findings:
        print(finding)
    if not findings:
        print(f"docs: {len(pages(options.root))} pages, nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
