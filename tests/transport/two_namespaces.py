#!/usr/bin/env python3
"""How much of a link of a known rate a hand-off gets: two network namespaces, joined by a veth pair
whose both ends tbf limits. Needs root, ip and tc; leaves nothing behind.

    two_namespaces.py BATON [--gbit 1 5] [--rounds 3]

One JSON object for each rate: what `baton bench handoff` prints, and `share_of_link`, the payload
rate by the configured one, whose bits include headers.
"""
import argparse
import contextlib
import json
import subprocess
import sys
import time

SPACES = ("baton-source", "baton-destination")
DEVICE = "link0"
NET = "10.255.77"
BITS_PER_GB = 8.0
CARRIER_S = 10


def run(*words, check=True):
    return subprocess.run(words, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def limit(gbit):
    for space in SPACES:
        run("ip", "netns", "exec", space, "tc", "qdisc", "replace", "dev", DEVICE, "root", "tbf",
            "rate", f"{gbit}gbit", "burst", "1mb", "latency", "50ms")


@contextlib.contextmanager
def namespaces():
    """Both are removed again, whatever happens: with them goes the pair."""
    try:
        for space in SPACES:
            run("ip", "netns", "add", space)
        run("ip", "link", "add", DEVICE, "netns", SPACES[0], "type", "veth", "peer", "name", DEVICE,
            "netns", SPACES[1])
        for number, space in enumerate(SPACES, 1):
            for words in (("addr", "add", f"{NET}.{number}/24", "dev", DEVICE),
                          ("link", "set", DEVICE, "up"), ("link", "set", "lo", "up")):
                run("ip", "-n", space, *words)
        await_carrier()
        yield
    finally:
        for space in SPACES:
            run("ip", "netns", "del", space, check=False)


def await_carrier():
    """The kernel joins the ends of a pair a moment after both are up."""
    deadline = time.monotonic() + CARRIER_S
    for space in SPACES:
        words = ("ip", "netns", "exec", space, "cat", f"/sys/class/net/{DEVICE}/operstate")
        while run(*words).stdout.strip() != "up":
            if time.monotonic() > deadline:
                sys.exit(f"{DEVICE} has no carrier after {CARRIER_S} s")
            time.sleep(0.05)


def measure(baton, gbit, rounds):
    # About two seconds of the link in each round and for its baseline.
    shrink = max(1, round(16 / gbit))
    found = run("ip", "netns", "exec", SPACES[1], baton, "bench", "handoff", "--path", "tcp",
                "--ranks", "1", "--rounds", str(rounds), "--shrink", str(min(64, shrink)),
                "--device", DEVICE, "--source-namespace", SPACES[0], check=False)
    if found.returncode != 0:
        sys.exit(f"baton bench: exit code {found.returncode}: {found.stdout}")
    line = json.loads(found.stdout.splitlines()[-1])
    line["link_gbit_per_s"] = gbit
    line["share_of_link"] = round(line["value"] * BITS_PER_GB / gbit, 3)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("baton", help="the program under test")
    parser.add_argument("--gbit", type=float, nargs="+", default=[1, 5], help="rates of the link")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    try:
        with namespaces():
            for gbit in args.gbit:
                limit(gbit)
                print(json.dumps(measure(args.baton, gbit, args.rounds), sort_keys=True),
                      flush=True)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)}: {error.stdout.strip()} (are you root?)")


if __name__ == "__main__":
    main()
