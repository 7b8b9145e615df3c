"""A thin runner for tests that drive the whole product: a test file registers cases whose names are
sentences, and `play` runs them and prints `N passed, N failed`, which tests/count.py reads.
"""
import argparse
import os
import signal
import sys
import time
import traceback

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Failed(Exception):
    """A requirement that does not hold; its text says which, and what was found."""


class Skipped(Exception):
    """The case needs something that this machine does not have."""


class OutOfTime(Exception):
    """The program as a whole took too long; raised in whatever waits."""


def require(holds, what):
    if not holds:
        raise Failed(what)


def require_equal(found, expected, what):
    if found != expected:
        raise Failed(f"{what}: expected {shortened(expected)}, found {shortened(found)}")


def shortened(value, most=300):
    text = repr(value)
    return text if len(text) <= most else text[:most] + " ..."


class Bench:
    """What every case is given: the program under test, a folder to write in, how much to do."""

    def __init__(self, options, name):
        self.baton = os.path.abspath(options.baton)
        self.full = options.full
        self.folder = os.path.join(os.path.abspath(options.folder), name)
        os.makedirs(self.folder, exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)


def from_root(*parts):
    return os.path.join(ROOT, *parts)


def parse(description, arguments):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baton", help="the program under test")
    parser.add_argument("--folder", default="build/cluster_tests", help="for run directories")
    parser.add_argument("--full", action="store_true", help="every combination, not a selection")
    parser.add_argument("--only", default="", help="cases whose sentence contains this text")
    parser.add_argument("--budget-s", type=int, default=840, help="bound of the whole program")
    return parser.parse_args(arguments)


def play_one(sentence, body, bench):
    """"passed", "failed" or "skipped"."""
    began = time.monotonic()
    try:
        body(bench)
        end, text = "passed", ""
    except Skipped as why:
        end, text = "skipped", f": {why}"
    except Failed as why:
        end, text = "failed", f": {why}"
    except OutOfTime:
        raise
    except Exception:  # whatever breaks a case must not hide the others
        end, text = "failed", ":\n" + traceback.format_exc()
    print(f"{end} {sentence} ({time.monotonic() - began:.1f} s){text}", flush=True)
    return end


def ring(*_):
    raise OutOfTime()


def play(name, description, cases_of, arguments=None):
    """Runs the cases of `cases_of(bench)`, pairs of a sentence and a function of the bench; returns
    the exit code. A signal ends the program by way of every `with`, so that no cluster stays.
    """
    options = parse(description, sys.argv[1:] if arguments is None else arguments)
    bench = Bench(options, name)
    signal.signal(signal.SIGALRM, ring)
    signal.signal(signal.SIGTERM, ring)
    signal.alarm(options.budget_s)
    ends = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        for sentence, body in cases_of(bench):
            if options.only in sentence:
                ends[play_one(sentence, body, bench)] += 1
    except (OutOfTime, KeyboardInterrupt):
        print(f"failed: stopped by a signal or after {options.budget_s} s, not all cases ran")
        ends["failed"] += 1
    signal.alarm(0)
    if ends["skipped"]:
        print(f"{ends['skipped']} skipped")
    print(f"{ends['passed']} passed, {ends['failed']} failed")
    return 1 if ends["failed"] else 0
