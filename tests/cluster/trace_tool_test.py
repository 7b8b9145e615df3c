#!/usr/bin/env python3
"""What the trace tool tells of real runs is what happened: where the time to the first token went,
who owned a block when, and what other programs are given to read.

    trace_tool_test.py BATON
"""
import json
import sys

from cases import from_root, play, require, require_equal
from cluster import HELLO, TEACHING, Cluster, command, read_json
from perfetto_format import require_format

SCENARIOS = ("hello", "late_arrivals", "lease_expiry", "cancel_every_state", "duplicate_notices",
             "manifest_fields", "wrong_incarnation", "decoder_refusal", "deadline_refusal")
IN_PLACE = from_root("deploy", "cluster", "teaching_in_place.json")


def scenario(name):
    return from_root("deploy", "scenarios", f"{name}.json")


def answer(bench, *words):
    ended = command(bench, "trace", *words)
    require_equal(ended.code, 0, f"exit code of baton trace {' '.join(words)} ({ended.tail()})")
    return ended.out


def answer_json(bench, *words):
    return json.loads(answer(bench, *words))


# -- path -----------------------------------------------------------------------------------------

def require_seamless(path):
    segments = path["segments"]
    for before, after in zip(segments, segments[1:]):
        require_equal(after["from_ns"], before["to_ns"], f"the end of {before}, and the next")
    require_equal(segments[-1]["to_ns"] - segments[0]["from_ns"], path["ttft_ns"], "the whole path")


def explained(bench):
    """The same times as the client has measured, and nearly all of them named."""
    with Cluster(bench, "explained", TEACHING) as cluster:
        for name in SCENARIOS:
            cluster.run(scenario(name)).require_well(name)
        first = cluster.require_explained()["first_token"]
        measured = cluster.stats()["durations_ns"]["first_token"]
        require_equal(first["count"], measured["count"], "requests with a first token")
        require_equal(first["p50_ns"], measured["p50"], "TTFT p50")
        path = answer_json(bench, "path", "hello", cluster.directory, "--json")["paths"][0]
        require_seamless(path)
        phases = [segment["phase"] for segment in path["segments"]]
        order = ["submit", "place", "reserve", "prefill", "hand-off", "commit", "step", "stream"]
        require_equal(sorted(set(phases), key=phases.index), order, "the phases, in their order")
        text = answer(bench, "path", "hello", cluster.directory)
        require("compute" in text and "between tokens: 119" in text, f"trace path says:\n{text}")


def explained_in_place(bench):
    with Cluster(bench, "in_place", IN_PLACE) as cluster:
        cluster.run(HELLO).require_well("hello")
        cluster.require_explained()


# -- blocks ---------------------------------------------------------------------------------------

def require_tenures(grants):
    """One holder after the other, each with the next generation, and each ends free."""
    for before, after in zip(grants, grants[1:]):
        require(before["free_ns"] <= after["leased_ns"], f"{before} overlaps {after}")
        require_equal(after["blocks"][0]["gen"], before["blocks"][0]["gen"] + 1, "generation")
    for grant in grants:
        times = [grant[f"{state}_ns"] for state in ("leased", "live", "quarantined", "free")]
        require(None not in (times[0], times[2], times[3]), f"not every state was passed: {grant}")
        passed = [time for time in times if time is not None]
        require_equal(passed, sorted(passed), "the states, in their order")


def owners(bench):
    with Cluster(bench, "owners", TEACHING) as cluster:
        for name in ("hello", "cancel_every_state"):
            cluster.run(scenario(name)).require_well(name)
        directory = cluster.directory
        pool = answer_json(bench, "blocks", "D3:0", directory, "--json")["pools"][0]
        require_equal((pool["group"], pool["blocks"]), ("D3", 512), "the pool")
        require_tenures(pool["grants"])
        require(len(pool["grants"]) > 2, f"block 0 was granted {len(pool['grants'])} times")
        one = answer(bench, "blocks", "D3:0", directory)
        require("live" in one and "quarantined" in one and "hello" in one, f"blocks D3:0:\n{one}")
        strips = answer(bench, "blocks", "D3", directory).splitlines()
        # A quarantine of microseconds is nobody's longest state in a column of milliseconds.
        require("-" in strips[3] and "#" in strips[3], f"no strip: {strips}")
        require(strips[-1].split()[0].endswith("-511"), f"the last row: {strips[-1]}")


# -- export ---------------------------------------------------------------------------------------

def exported(bench):
    """One slice for each record, and one for each plan's kernels."""
    with Cluster(bench, "exported", TEACHING) as cluster:
        for name in ("hello", "cancel_every_state"):
            cluster.run(scenario(name)).require_well(name)
    directory = cluster.directory
    file = cluster.path("perfetto.json")
    answer(bench, "export", "--perfetto", file, directory)
    found, names = require_format(read_json(file), {"blocks of P7": 512, "blocks of D3": 512})
    records = answer_json(bench, "stats", "--json", directory)["records"]
    kinds = [event["cat"] for event in found["X"]]
    require_equal(kinds.count("handling"), records, "slices of handling")
    plans = [e for e in found["X"] if e["name"] == "plan_ended"]
    require_equal(kinds.count("kernels"), len(plans), "slices of kernels")
    require(len(found["s"]) > records / 2, f"{len(found['s'])} flows of {records} records")
    require({"pool/D3", "reservation/1", "kernels"} <= set(sum(names.values(), [])),
            f"tracks: {names}")

    lines = cluster.path("all.jsonl")
    answer(bench, "export", "--json", lines, directory)
    with open(lines, encoding="utf-8") as written:
        said = [json.loads(line) for line in written]
    require_equal(len(said), records, "lines of JSON")
    seen = set()
    for record in said:
        ends = record["message"] == "request_ended" and record["node"] == "client"
        require(not ends or record["cause"] in seen, f"before its cause: {record}")
        seen.add(record["id"])


def nothing_to_write(bench):
    with Cluster(bench, "unwritten", TEACHING) as cluster:
        cluster.run(HELLO).require_well("hello")
    refused = {cluster.path("x.trace.jsonl"): "would be read as a trace",
               cluster.path("no/such/folder.json"): "cannot write", "/dev/full": "cannot write"}
    for path, why in refused.items():
        ended = command(bench, "trace", "export", "--perfetto", path, cluster.directory)
        require_equal(ended.code, 1, f"exit code of an export to {path} ({ended.tail()})")
        require(why in ended.err, f"{path}: {ended.err}")
    require_equal(command(bench, "trace", "export", cluster.directory).code, 2, "without a format")


def nothing_to_show(bench):
    """A request without a token has no path; an unknown one is not there."""
    with Cluster(bench, "nothing", TEACHING) as cluster:
        cluster.run(scenario("decoder_refusal"))
        for words, why in ((("path", "nobody", cluster.directory), "no request 'nobody'"),
                           (("path", bench.path("nowhere")), "nowhere"),
                           (("blocks", "D4", cluster.directory), "there are: D3, P7"),
                           (("blocks", "D3:512", cluster.directory), "blocks 0 to 511"),
                           (("blocks", "D3:x", cluster.directory), "GROUP:BLOCK")):
            ended = command(bench, "trace", *words)
            require_equal(ended.code, 1, f"exit code of baton trace {' '.join(words)}")
            require(why in ended.err, f"\"{why}\" is not said: {ended.err}")


def cases(_bench):
    yield "trace path explains the time to the first token of every scenario", explained
    yield "trace path explains it in place, too", explained_in_place
    yield "trace blocks shows one owner after the other, each with its own generation", owners
    yield "trace export writes what keeps the format's rules, with every record", exported
    yield "trace export says what it cannot write", nothing_to_write
    yield "trace path and trace blocks say what is not there", nothing_to_show


if __name__ == "__main__":
    sys.exit(play("trace_tool", __doc__, cases))
