#!/usr/bin/env python3
"""A thousand requests through five processes, one in ten cancelled at a random moment: nothing is
lost, nothing stays, and every token is the one that a colocated group gives.

    thousand_test.py BATON
"""
import copy
import sys

from cases import from_root, play, require, require_equal
from cluster import KJV, Cluster, file_of, mixed_group, read_json

RUN_S = 400
FULL_POOLS = "free = capacity"
NO_ACTOR = "no actor left"


def without_cancels(script):
    same = copy.deepcopy(script)
    for generator in same["generate"]:
        generator["cancel_fraction"] = 0.0
    return same


def require_explained(played):
    """Every request completed with its whole budget, or was cancelled as the script wanted."""
    require_equal(len(played.requests), 1000, "requests with a report")
    for name, request in played.requests.items():
        seen = (request["outcome"], request["reason"])
        require(seen in (("completed", "none"), ("cancelled", "cancelled")),
                f"{name}: {seen}: {request['message']}")
        if request["outcome"] == "completed":
            require_equal(request["attempts"], 1, f"{name}: attempts")


def require_clean(played, cluster):
    pools = played.report["pools"]
    require(FULL_POOLS in pools and NO_ACTOR in pools, f"afterwards: {pools}")
    require("trace check: ok" in played.report["trace"], played.report["trace"])
    cluster.require_trace()


def compare(split, whole):
    """Completed: equal. Cancelled: as far as it came."""
    cancelled = 0
    for name, request in split.requests.items():
        expected = whole.requests[name]["tokens"]
        if request["outcome"] == "cancelled":
            cancelled += 1
            expected = expected[:len(request["tokens"])]
        require_equal(request["tokens"], expected, f"{name} ({request['outcome']}): tokens")
    return cancelled


def thousand(bench):
    script = read_json(from_root("deploy", "scenarios", "thousand.json"))
    with Cluster(bench, "split", from_root("deploy", "cluster", "teaching.json")) as cluster:
        split = cluster.run(script, wait_s=RUN_S).require_well("a thousand, split")
        require_explained(split)
        require_clean(split, cluster)
        cluster.require_explained()
        print(f"  {split.report['totals']['elapsed_s']:.1f} s split,"
              f" {split.report['totals']['tokens_per_s']:.0f} tokens/s")
    with Cluster(bench, "mixed", file_of("mixed", KJV, "bf16", mixed_group())) as cluster:
        whole = cluster.run(without_cancels(script), wait_s=RUN_S).require_well("colocated")
        require_equal(whole.report["totals"]["outcomes"], {"completed": 1000}, "outcomes")
        require_clean(whole, cluster)
    cancelled = compare(split, whole)
    require(50 <= cancelled <= 150, f"{cancelled} requests were cancelled")


def cases(_bench):
    yield "a thousand requests answer like one group, and nothing stays", thousand


if __name__ == "__main__":
    sys.exit(play("thousand", __doc__, cases))
