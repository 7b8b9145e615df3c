#!/usr/bin/env python3
"""In place between two groups: the shipped scenarios run unchanged and move no KV byte; a writer
that dies or falls silent gives the decode group its memory back by proof, or by fresh pages.

    in_place_test.py BATON
"""
import os
import signal
import sys
import time

from cases import from_root, play, require, require_equal
from cluster import Cluster, command, processes_of, wait_until

CLUSTER = from_root("deploy", "cluster", "teaching_in_place.json")
SYNTHETIC = from_root("deploy", "cluster", "teaching_synthetic_in_place.json")
SCENARIOS = ("hello", "cancel_every_state", "lease_expiry", "late_arrivals", "duplicate_notices",
             "manifest_fields", "wrong_incarnation", "decoder_refusal")
HIDDEN_BYTES = 192 * 4  # of deploy/models/kjv-1.6m: the final hidden state, which travels
SEEN_S = 40             # bound of a wait on a busy machine
WRITER_WAIT_S = 10      # limits::writer_wait_ms_max

EXECUTOR = {"kind": "synthetic", "layers": 2, "kv_heads": 8, "heads": 8, "head_dim": 16,
            "hidden": 128, "vocab": 1000, "prefill_us_per_token": 2000}
GROUPS = [{"name": "P", "role": "prefill", "ranks": 2, "pool_blocks": 8},
          {"name": "D", "role": "decode", "ranks": 2, "pool_blocks": 512, "decode_slots": 4}]
SLOW = {"name": "slow", "executor": EXECUTOR, "groups": GROUPS, "path": "in_place",
        "lease": {"ms_min": 60000}, "peer_timeout_ms": 3000}
LONG = {"name": "long", "requests": [{"id": "long", "prompt_length": 6000, "output_tokens": 8,
                                      "expect": {"outcome": "failed", "reason": "peer_lost"}}]}


def teaching_shape(bench):
    """2.5 GiB a prompt, computed where it is decoded; the decoder verifies every byte of it. The
    time is told, not judged: this machine may have other work."""
    with Cluster(bench, "prompts_8k", SYNTHETIC) as cluster:
        cluster.run(from_root("deploy", "scenarios", "prompts_8k.json"), wait_s=250) \
            .require_well("prompts_8k")
        stats = cluster.stats()
        require_equal(stats["bytes_landed_by_node"],
                      {node: 20 * 8192 * 4 for node in ("D3.0", "D3.1")}, "bytes landed")
        p50_ms = stats["durations_ns"]["hand_off"]["p50"] / 1e6
        print(f"  prompt's end to commit: p50 {p50_ms:.2f} ms")


def process_of(cluster, node):
    for pid in processes_of(cluster.directory):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if node.encode() in file.read().split(b"\0"):
                return pid
    raise LookupError(f"no process of {node}")


def lines(cluster, node, *words):
    """Trace lines of a living node that hold all these words; the last may be half written."""
    with open(cluster.path(f"{node}.trace.jsonl"), encoding="utf-8") as file:
        return [line for line in file
                if line.endswith("\n") and all(f'"{word}"' in line for word in words)]


def await_line(cluster, node, *words):
    require(wait_until(lambda: lines(cluster, node, *words), SEEN_S),
            f"{node} never recorded {words}")
    return time.monotonic()


def scenario_case(name):
    def body(bench):
        with Cluster(bench, name, CLUSTER) as cluster:
            played = cluster.run(from_root("deploy", "scenarios", name + ".json"))
            played.require_well(name)
            cluster.require_trace()
            for node, landed in cluster.stats()["bytes_landed_by_node"].items():
                require_equal(landed % HIDDEN_BYTES, 0, f"{node}: bytes beside hidden states")
                require(landed <= HIDDEN_BYTES * 2 * len(played.requests),
                        f"{node}: {landed} bytes landed")
    return f"the scenario {name} runs unchanged in place, and only hidden states travel", body


def cut_off(bench, name, how, then):
    """P.1 is signalled while it computes a prompt in D.1's memory: `then(cluster, pid, began)`."""
    with Cluster(bench, name, SLOW) as cluster:
        asker = cluster.start(LONG)
        await_line(cluster, "D.1", "piece_landed")
        pid = process_of(cluster, "P.1")
        began = time.monotonic()
        os.kill(pid, how)
        try:
            then(cluster, pid, began)
        finally:
            if how == signal.SIGSTOP and pid in processes_of(cluster.directory):
                os.kill(pid, signal.SIGCONT)
        cluster.finish(asker).require_well("the request whose writer was cut off")
    check = command(bench, "trace", "check", cluster.directory)
    require_equal(check.code, 0, f"exit code of baton trace check ({check.tail()})")


def killed(bench):
    def then(cluster, _pid, began):
        freed = await_line(cluster, "D.0", "blocks_reclaimed", "reservation_reclaimed")
        require(freed - began < WRITER_WAIT_S, f"freed only after {freed - began:.1f} s")
        require_equal(lines(cluster, "D.1", "pages_replaced"), [], "replaced pages at D.1")
        require_equal(len(lines(cluster, "D.0", "writer_stopped")), 1, "P.0's word at D.0")
    cut_off(bench, "killed", signal.SIGKILL, then)


def silent(bench):
    def then(cluster, pid, began):
        freed = await_line(cluster, "D.0", "blocks_reclaimed", "reservation_reclaimed")
        require(freed - began > WRITER_WAIT_S, f"freed without proof, {freed - began:.1f} s later")
        require_equal(len(lines(cluster, "D.1", "pages_replaced")), 1, "replaced pages at D.1")
        require_equal(lines(cluster, "D.0", "pages_replaced"), [], "replaced pages at D.0")
        require_equal(lines(cluster, "P.0", "sequence_quiesced"), [], "quiet while P.1 may write")
        os.kill(pid, signal.SIGCONT)  # it believes in what it wrote, and harms nobody
        os.kill(pid, signal.SIGKILL)
        await_line(cluster, "P.0", "sequence_quiesced")  # now it cannot run its plans any more
    cut_off(bench, "silent", signal.SIGSTOP, then)


def cases(_bench):
    for name in SCENARIOS:
        yield scenario_case(name)
    yield ("prompts of 8,192 tokens in the teaching shape move their hidden states alone",
           teaching_shape)
    yield "the blocks of a writer that was killed are free as soon as its end is proven", killed
    yield "the blocks of a silent writer are quarantined until its pages were replaced", silent


if __name__ == "__main__":
    sys.exit(play("in_place", __doc__, cases))
