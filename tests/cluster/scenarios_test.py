#!/usr/bin/env python3
"""Every shipped scenario, played one after the other against one teaching cluster, ends as it says
itself: exit code 0. prompts_8k.json, teaching.json and thousand.json have tests of their own, and
what needs another cluster file than teaching.json is played against that.

    scenarios_test.py BATON
"""
import os
import sys

from cases import from_root, play, require_equal
from cluster import Cluster, command

ELSEWHERE = ("prompts_8k", "teaching", "thousand")
TEACHING = "teaching.json"
OTHER_CLUSTER = {"inflight_refusal": "teaching_narrow.json"}


def cluster_file(scenario):
    return from_root("deploy", "cluster", OTHER_CLUSTER.get(scenario, TEACHING))


def scenarios():
    folder = from_root("deploy", "scenarios")
    for name in sorted(os.listdir(folder)):
        stem, suffix = os.path.splitext(name)
        if suffix == ".json" and stem not in ELSEWHERE:
            yield stem, os.path.join(folder, name)


def scenario_case(name, path):
    def body(bench):
        with Cluster(bench, name, cluster_file(name)) as cluster:
            cluster.run(path).require_well(name)
            cluster.require_trace()
    return f"the scenario {name} ends as it says", body


def play_all(bench):
    """What one scenario leaves behind must not reach the next."""
    with Cluster(bench, "all", from_root("deploy", "cluster", TEACHING)) as cluster:
        for again in range(2):
            for name, path in scenarios():
                if name not in OTHER_CLUSTER:
                    cluster.run(path).require_well(f"{name}, round {again + 1}")
        cluster.require_trace()


def read_by_hand(bench):
    """`trace show` and `trace stats` of a scenario tell what the client's report tells."""
    with Cluster(bench, "read", from_root("deploy", "cluster", TEACHING)) as cluster:
        played = cluster.run(from_root("deploy", "scenarios", "hello.json")).require_well("hello")
        stats = cluster.stats()
        require_equal(stats["outcomes"], {"completed": 1}, "outcomes")
        show = command(bench, "trace", "show", "hello", cluster.directory)
        require_equal(show.code, 0, "exit code of baton trace show")
        require_equal(played.requests["hello"]["request"] in show.out, True, "the id is shown")


def cases(_bench):
    for name, path in scenarios():
        yield scenario_case(name, path)
    yield "all scenarios twice in one cluster leave nothing to each other", play_all
    yield "trace show and trace stats tell of the request that was asked", read_by_hand


if __name__ == "__main__":
    sys.exit(play("scenarios", __doc__, cases))
