#!/usr/bin/env python3
"""Sums test cases over ctest's JUnit reports: `count.py REPORT...` prints `N passed, N failed`.

A doctest program counts by its own summary, as does a test that prints `N passed, N failed` itself;
any other test counts as one case. A test that ended badly counts at least one failure, whatever its
summary says: a sanitizer speaks last.
"""
import argparse
import re
import sys
import xml.etree.ElementTree as xml

SUMMARY = re.compile(r"\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")
PLAIN_SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def count(report):
    """(passed, failed) of one JUnit file; a file that is missing or cut short is one failure."""
    try:
        cases = xml.parse(report).getroot().iter("testcase")
    except (OSError, xml.ParseError):
        return 0, 1
    passed = failed = 0
    for case in cases:
        if case.get("status") == "disabled":
            continue
        ended_well = case.get("status") == "run"
        output = COLOUR.sub("", case.findtext("system-out") or "")
        summaries = SUMMARY.findall(output) + PLAIN_SUMMARY.findall(output)
        case_passed = sum(int(p) for p, _ in summaries) if summaries else int(ended_well)
        case_failed = sum(int(f) for _, f in summaries)
        passed += case_passed
        failed += case_failed if ended_well else max(case_failed, 1)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lost", type=int, default=0, help="stages that could not run at all")
    parser.add_argument("reports", nargs="*")
    options = parser.parse_args()
    passed, failed = 0, options.lost
    for report in options.reports:
        report_passed, report_failed = count(report)
        passed += report_passed
        failed += report_failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
