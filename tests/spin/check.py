#!/usr/bin/env python3
"""Somebody else's tool: has spin check the model hand_off.pml, then has our machines follow it.

    tests/spin/check.py SPIN_TESTS            about a minute on two cores
    tests/spin/check.py SPIN_TESTS --whole    also the whole world at once: 90 s more, 1 GB

1. Every order of every step in two small worlds, none of which may break an assertion (I1, I2, I3,
   I5, I6, I12): three reservations while no node is reported lost, two with losses.
2. For each planted mistake the shortest way to it, by the assertion that is meant for it.
3. Random walks, which together take every kind of step that the model has.
4. SPIN_TESTS, whose machines take the steps of 2 and 3 and compare states after each.

Without spin or a C compiler it says so and passes. The last line is `N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hand_off.pml")
DEPTH_MAX = 10_000
WALK_STEPS = 4_000
# The words of the assertion that finds each mistake; tests/spin/spin_test.cpp says what they are.
FOUND_BY = {1: "early_free", 2: "early_free", 3: "bad_commit", 4: "early_free", 5: "bad_commit",
            6: "late_write", 7: "nfree", 8: "early_free", 9: "bad_commit", 10: "early_free",
            11: "two_owners"}
NEEDS_TWO = (3,)  # a commit is stale only if there was a reservation before


def definitions(bug=0, walk=0, losses=1, grants=3):
    return [f"-DBUG={bug}", f"-DWALK={walk}", f"-DLOSSES={losses}", f"-DGRANTS={grants}"]


def run(command, folder, budget_s):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=budget_s,
                          check=False)
    return done.stdout + done.stderr


class Check:
    def __init__(self, options):
        self.folder = os.path.abspath(options.folder)
        self.budget_s = options.budget_s
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.path("steps"))
        self.passed = self.failed = 0

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def say(self, holds, sentence, found):
        print(f"{'passed' if holds else 'failed'} {sentence}: {found}", flush=True)
        self.passed += holds
        self.failed += not holds

    def verify(self, name, optimise, flags, defined):
        """The verifier's report for the model so defined."""
        folder = self.path(name)
        os.makedirs(folder)
        said = run(["spin", "-a", *defined, MODEL], folder, self.budget_s)
        said += run([shutil.which("gcc") or "cc", optimise, "-w", "-DSAFETY", "-DNOCLAIM",
                     "-DNOREDUCE", *flags, "-o", "pan", "pan.c"], folder, self.budget_s)
        if not os.path.exists(os.path.join(folder, "pan")):
            return said
        return run(["./pan", f"-m{DEPTH_MAX}"], folder, self.budget_s)

    def search(self, name, sentence, losses, grants):
        report = self.verify(name, "-O1", [], definitions(losses=losses, grants=grants))
        states = re.search(r"(\d+) states, stored", report)
        depth = re.search(r"depth reached (\d+), errors: (\d+)", report)
        memory = re.search(r"([\d.]+)\s+total actual memory", report)
        whole = "Search not completed" not in report and "depth too small" not in report
        holds = bool(states and depth and depth[2] == "0" and whole)
        found = f"{states[1]} states, depth {depth[1]}, {memory[1]} MB" if holds else report
        return holds, sentence, found

    def mistake(self, number):
        defined = definitions(bug=number, losses=0, grants=2 if number in NEEDS_TWO else 1)
        report = self.verify(f"mistake-{number}", "-O0", ["-DBFS"], defined)
        broken = re.search(r"assertion violated (.*)\(at depth", report)
        trail = self.path(f"mistake-{number}", "hand_off.pml.trail")
        steps = 0
        if os.path.exists(trail):
            steps = sum(self.simulate(f"mistake-{number}", ["-k", trail, *defined]).values())
        holds = bool(broken) and FOUND_BY[number] in broken[1] and steps > 0
        found = f"{broken[1].strip()}, {steps} steps" if broken else report
        return holds, f"mistake {number} is found by its assertion", found

    def simulate(self, name, arguments):
        """Writes the steps that spin prints, and counts them by kind."""
        with tempfile.TemporaryDirectory(dir=self.folder) as alone:  # spin writes files of one name
            steps = run(["spin", "-T", *arguments, MODEL], alone, self.budget_s)
        with open(self.path("steps", name), "w", encoding="utf-8") as out:
            out.write(steps)
        return collections.Counter(re.findall(r"^did (\w+) \d+:", steps, re.MULTILINE))

    def walk(self, seed):
        return self.simulate(f"walk-{seed}",
                             [f"-n{seed}", f"-u{WALK_STEPS}", *definitions(walk=1)])

    def check_walks(self, walks):
        seen = sum(walks, collections.Counter())
        with open(MODEL, encoding="utf-8") as model:
            kinds = set(re.findall(r'"(\w+) %d"', model.read()))
        unseen = sorted(kinds - set(seen))
        rarest = ", ".join(f"{kind} {count}" for kind, count in seen.most_common()[:-4:-1])
        self.say(not unseen and all(walks), "the walks take every kind of step",
                 f"missing: {' '.join(unseen)}" if unseen
                 else f"{len(kinds)} kinds, {sum(seen.values())} steps, rarest: {rarest}")

    def compare(self, program):
        done = subprocess.run([os.path.abspath(program)], timeout=self.budget_s, check=False,
                              env={**os.environ, "BATON_SPIN_FOLDER": self.path("steps")})
        self.say(done.returncode == 0, "our machines follow", f"exit code {done.returncode}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="spin_tests")
    parser.add_argument("--folder", default="build/spin_check", help="written anew")
    parser.add_argument("--walks", type=int, default=200, help="how many random walks")
    parser.add_argument("--whole", action="store_true", help="three reservations and losses")
    parser.add_argument("--budget-s", type=int, default=600, help="bound of each command")
    return parser.parse_args()


def judge(check, options):
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(check.search, "calm", "three reservations, no node lost", 0, 3),
                pool.submit(check.search, "lossy", "two reservations, nodes lost", 1, 2)]
        if options.whole:
            jobs.append(pool.submit(check.search, "whole", "three reservations, nodes lost", 1, 3))
        jobs += [pool.submit(check.mistake, number) for number in FOUND_BY]
        walks = list(pool.map(check.walk, range(1, options.walks + 1)))
        for job in jobs:
            check.say(*job.result())
    check.check_walks(walks)


def main():
    options = parse()
    check = Check(options)
    if shutil.which("spin") and (shutil.which("gcc") or shutil.which("cc")):
        judge(check, options)
    else:
        print("skipped: spin or a C compiler is not installed (deploy/packages.txt)")
    check.compare(options.program)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
