#!/usr/bin/env python3
"""A cluster file may leave its path to be measured, prefer one, and require a transport of UCX.
What was chosen, and why, is said by `baton up`, by `baton status` and in the trace.

    path_choice_test.py BATON
"""
import json
import sys

from cases import play, require, require_equal
from cluster import HELLO, TEACHING, Cluster, command, read_json

PATHS = ["in_place", "shared_arena", "pull over cma", "pull over shared_memory", "pull over tcp"]


def teaching(**fields):
    return {**read_json(TEACHING), **fields}


def asked_status(cluster):
    answer = command(cluster.bench, "status", "--dir", cluster.directory, "--json")
    require_equal(answer.code, 0, f"exit code of baton status ({answer.tail()})")
    return json.loads(answer.out)


def say_hello(bench, name, file):
    """The answer of `baton status` and what the router's trace says of the path."""
    with Cluster(bench, name, file) as cluster:
        cluster.run(HELLO).require_well("hello")
        chosen = [r["event"] for r in cluster.trace_records("router")
                  if r["message"] == "path_chosen"]
        require_equal(len(chosen), 1, "path_chosen in the router's trace")
        return asked_status(cluster), chosen[0]


def used_by_decode_ranks(status):
    return {path for node in status["nodes"] if node["node"].startswith("D3")
            for path in (p.split(" ", 1)[1] for p in node["paths"].split(", "))}


def nothing_moves_where_nothing_need_move(bench):
    status, chosen = say_hello(bench, "measured", teaching(path="measured"))
    require_equal(status["path"], "in_place", "path")
    require_equal(len(status["path_costs"]), len(PATHS), "paths measured")
    for path, said in zip(PATHS, chosen["measured"]):
        require(said.startswith(path), f"{path} is not in the trace: {chosen}")


def the_fastest_is_taken_where_layouts_differ(bench):
    file = teaching(path="measured")
    file["groups"][1]["ranks"] = 1
    status, _ = say_hello(bench, "unequal", file)
    costs = status["path_costs"]
    require("needs the layout of group P7" in costs[0]["refused"], f"in place: {costs[0]}")
    best = max(costs, key=lambda cost: cost["bytes_per_s"])
    require_equal((status["path"], status["transport"]), (best["path"], best["transport"]),
                  "the path of the highest rate")


def a_preferred_path_goes_over_the_required_transport(bench):
    for transport, found in (("tcp", "pull tcp"), ("shared_memory", "pull posix")):
        file = teaching(path="measured", prefer="pull", transport=transport)
        status, _ = say_hello(bench, f"prefer_{transport}", file)
        require_equal((status["path"], status["transport"]), ("pull", transport), "path")
        require_equal(used_by_decode_ranks(status), {found}, "what UCX uses")


def a_path_by_name_is_required_and_not_measured(bench):
    status, chosen = say_hello(bench, "required", teaching(path="shared_arena"))
    require_equal((status["path"], status["path_costs"]), ("shared_arena", []), "path")
    require_equal(chosen, {"path": "shared_arena", "measured": []}, "path_chosen")


def cases(_bench):
    yield ("where the layouts allow it nothing moves, and every path is measured",
           nothing_moves_where_nothing_need_move)
    yield ("in place is ruled out with the reason, and the fastest path is taken",
           the_fastest_is_taken_where_layouts_differ)
    yield ("a preferred path goes over the transport that is required",
           a_preferred_path_goes_over_the_required_transport)
    yield ("a path by name is required, and not measured",
           a_path_by_name_is_required_and_not_measured)


if __name__ == "__main__":
    sys.exit(play("path_choice", __doc__, cases))
