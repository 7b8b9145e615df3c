#!/usr/bin/env python3
"""Plants the ownership bugs of tests/mutants/table/*.txt into a copy of protocol's sources.

    tests/mutants/plant.py --list                    name, files and sentence of each mutant
    tests/mutants/plant.py --files                   the sources that some mutant changes
    tests/mutants/plant.py --out DIR                 write the changed sources and the table there

A table reads like a patch, one mutant after the other:

    mutant free_on_expiry
      One sentence or two: what is wrong, and what goes wrong for a user.
    in protocol/reservation.cpp
    at step_result expire(State s, instant now) {
    - return revoke(std::move(s.data), lease_over, true);
    + s.data.lanes.clear();
    + return revoke(std::move(s.data), lease_over, true);

A line `unseen why` says why no message shows the bug, so that the trace check need not find it.

`-` is the original and `+` what replaces it while the mutant is active. With `at`, the original is
looked for in the function that begins so, else in the whole file; `within` narrows that to a text
around it. Runs of white space match any other. Each text must occur exactly once where it is looked
for, or planting fails with the mutant's name: so the table follows the code. An original that ends
with `;`, or with a `}` behind one, is a statement (or several), any other an expression. A mutant
may have several edits.
"""
import argparse
import glob
import os
import re
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
PLACES = ("in", "at", "within")  # from wide to narrow


class Edit:
    """One place of one mutant: where its original stands in the file is known once it is found."""

    def __init__(self, mutant, place):
        self.mutant, self.file = mutant, place.get("in")
        self.function, self.around = place.get("at"), place.get("within")
        self.original, self.replacement = [], []
        self.begin = self.end = 0


class Mutant:
    def __init__(self, name):
        self.name = name
        self.number = zlib.crc32(name.encode()) >> 1  # the others' sources stay as they are
        self.sentence, self.unseen, self.table, self.edits = "", "", "", []


def fail(mutant, why):
    sys.exit(f"plant: mutant {mutant.name}: {why}")


def read_tables(folder):
    """All mutants, in order of their tables' names."""
    mutants = []
    for path in sorted(glob.glob(os.path.join(folder, "*.txt"))):
        with open(path, encoding="utf-8") as table:
            before = len(mutants)
            read_table(table.read().splitlines(), mutants)
            for mutant in mutants[before:]:
                mutant.table = os.path.basename(path)
    numbers = [mutant.number for mutant in mutants]
    for mutant in mutants:
        if numbers.count(mutant.number) > 1 or mutant.number == 0:
            fail(mutant, "the name is used twice, or has the number of another")
        if not mutant.sentence or not mutant.edits:
            fail(mutant, "needs a sentence and an edit")
    return mutants


def read_table(lines, mutants):
    place, before = {}, ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if not line.strip() or word == "#":
            continue
        if word == "mutant":
            mutants.append(Mutant(rest.strip()))
            place = {}
        elif word == "":
            mutants[-1].sentence = f"{mutants[-1].sentence} {rest.strip()}".strip()
        elif word == "unseen":
            mutants[-1].unseen = f"{mutants[-1].unseen} {rest.strip()}".strip()
        elif word in PLACES:
            for inner in PLACES[PLACES.index(word):]:
                place.pop(inner, None)
            place = {**place, word: rest.strip()}
        elif word in ("-", "+"):
            edits = mutants[-1].edits
            if word == "-" and before != "-":
                edits.append(Edit(mutants[-1], place))
            (edits[-1].original if word == "-" else edits[-1].replacement).append(rest.strip())
        else:
            fail(mutants[-1], f"cannot read the line: {line}")
        before = word


def find_once(mutant, text, wanted, begin=0, end=None):
    """(begin, end) of the only place where the words of `wanted` stand in text[begin:end]."""
    pattern = re.compile(r"\s+".join(re.escape(word) for word in wanted.split()))
    found = list(pattern.finditer(text, begin, len(text) if end is None else end))
    if len(found) != 1:
        fail(mutant, f"this text occurs {len(found)} times instead of once: {wanted}")
    return found[0].span()


def function_end(text, begin):
    """Where the closing brace is that stands as far left as the line at `begin`."""
    indent = begin - (text.rfind("\n", 0, begin) + 1)
    closing = re.compile(r"^ {0,%d}\}" % indent, re.MULTILINE).search(text, begin)
    return closing.end() if closing else len(text)


def locate(edit, text):
    begin, end = 0, len(text)
    if edit.function is not None:
        begin = find_once(edit.mutant, text, edit.function)[0]
        end = function_end(text, begin)
    if edit.around is not None:
        begin, end = find_once(edit.mutant, text, edit.around, begin, end)
    edit.begin, edit.end = find_once(edit.mutant, text, " ".join(edit.original), begin, end)


def choice(original, edits):
    """The original as it stands, or one of its replacements, decided at run time."""
    statement = re.search(r"(;|[;}]\s*\})$", original.rstrip()) is not None
    for edit in edits:
        active = f"::baton::mutants::is({edit.mutant.number} /* {edit.mutant.name} */)"
        new = " ".join(edit.replacement)
        if "//" in new:
            fail(edit.mutant, "a replacement stands on one line and has no `//`")
        original = f"{{ if ({active}) {{ {new} }} else {{ {original} }} }}" if statement \
            else f"({active} ? ({new}) : ({original}))"
    return original


def render(text, begin, end, edits):
    """text[begin:end] with every edit in it; edits may be inside each other."""
    out, at = [], begin
    edits = sorted(edits, key=lambda edit: (edit.begin, -edit.end))
    while edits:
        outer = edits[0]
        here = [e for e in edits if (e.begin, e.end) == (outer.begin, outer.end)]
        inner = [e for e in edits if e not in here and e.begin < outer.end]
        for edit in inner:
            if edit.end > outer.end:
                fail(edit.mutant, f"its original overlaps that of {outer.mutant.name}")
        edits = [e for e in edits if e not in here and e not in inner]
        out.append(text[at:outer.begin])
        out.append(choice(render(text, outer.begin, outer.end, inner), here))
        at = outer.end
    return "".join(out) + text[at:end]


def plant(file, mutants):
    with open(os.path.join(ROOT, file), encoding="utf-8") as source:
        text = source.read()
    edits = [edit for mutant in mutants for edit in mutant.edits if edit.file == file]
    for edit in edits:
        locate(edit, text)
    head = f'#include "tests/mutants/mutant.hpp"\n#line 1 "{file}"\n'
    return head + render(text, 0, len(text), edits)


def changed_files(mutants):
    files = sorted({edit.file for mutant in mutants for edit in mutant.edits})
    for mutant in mutants:
        for edit in mutant.edits:
            if not re.fullmatch(r"protocol/\w+\.cpp", edit.file or ""):
                fail(mutant, f"only sources of protocol/ can be changed, not {edit.file}")
    return files


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def table_source(mutants):
    rows = "".join(f"    {{{m.number}, {quoted(m.name)},\n     {quoted(m.table)},\n"
                   f"     {quoted(m.sentence)},\n     {quoted(m.unseen)}}},\n" for m in mutants)
    return ('#include "tests/mutants/mutant.hpp"\n\nnamespace baton::mutants {\n\n'
            "const std::vector<planted>& all() {\n  static const std::vector<planted> table{\n"
            f"{rows}  }};\n  return table;\n}}\n\n}} // namespace baton::mutants\n")


def write_if_new(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            if old.read() == text:
                return
    with open(path, "w", encoding="utf-8") as new:
        new.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true")
    what.add_argument("--files", action="store_true")
    what.add_argument("--out")
    options = parser.parse_args()
    mutants = read_tables(os.path.join(HERE, "table"))
    files = changed_files(mutants)
    if options.files:
        print("\n".join(files))
    elif options.list:
        for mutant in mutants:
            where = ", ".join(dict.fromkeys(edit.file for edit in mutant.edits))
            print(f"{mutant.name} ({where})\n  {mutant.sentence}")
    else:
        for file in files:
            write_if_new(os.path.join(options.out, file), plant(file, mutants))
        write_if_new(os.path.join(options.out, "mutant_table.cpp"), table_source(mutants))
    return 0


if __name__ == "__main__":
    sys.exit(main())
