#!/usr/bin/env python3
"""The death of a node's process is noticed by proof, long before its silence would tell; silence is
not taken for death.

    process_death_test.py BATON
"""
import glob
import json
import os
import signal
import sys
import threading
import time

from cases import play, require, require_equal
from cluster import Cluster, command, process_of, wait_until

SEEN_S = 30        # bound of a wait on a busy machine
NOTICED_MS = 3000  # of a peer timeout of 60,000
SILENT_MS = 5000   # a busy machine delays heartbeats by seconds
VICTIM = "D.1"
EXECUTOR = {"kind": "synthetic", "layers": 2, "kv_heads": 8, "heads": 8, "head_dim": 16,
            "hidden": 128, "vocab": 1000, "decode_us_per_step": 10000}
GROUPS = [{"name": "P", "role": "prefill", "ranks": 2, "pool_blocks": 64},
          {"name": "D", "role": "decode", "ranks": 2, "pool_blocks": 256, "decode_slots": 4}]


def file_of(peer_timeout_ms):
    return {"name": "death", "executor": EXECUTOR, "groups": GROUPS, "lease": {"ms_min": 60000},
            "peer_timeout_ms": peer_timeout_ms}


def records(cluster, node, message):
    """Records of this message so far, about the victim where it is about a node; the last line of a
    living node may be half written. Each client has a file of its own."""
    pattern = "client-*" if node == "client" else node
    whole = []
    for path in glob.glob(cluster.path(f"{pattern}.trace.jsonl")):
        with open(path, encoding="utf-8") as file:
            whole += [line for line in file if line.endswith("\n") and f'"{message}"' in line]
    return [r for r in map(json.loads, whole)
            if r.get("message") == message and r["event"].get("node", VICTIM) == VICTIM]


def await_record(cluster, node, message):
    require(wait_until(lambda: records(cluster, node, message), SEEN_S),
            f"{node} never handled {message}")
    return records(cluster, node, message)[0]


def ms_after(record, begin_ns):
    return (record["begin_ns"] - begin_ns) / 1e6


def await_line(cluster, node, text):
    """What a node says for people stands in the supervisor's log."""
    def said():
        with open(cluster.path("up.log"), encoding="utf-8") as log:
            return f"{node}: {text}" in log.read()
    require(wait_until(said, SEEN_S), f"{node} never said '{text}'")


def long_request(**expect):
    return {"name": "long", "requests": [{"id": "long", "prompt_length": 64, "ignore_eos": True,
                                          "output_tokens": 3000, "expect": expect}]}


def killed_while_decoding(bench):
    with Cluster(bench, "killed", file_of(60000)) as cluster:
        played = []
        script = long_request(outcome="interrupted", reason="peer_lost")
        asker = threading.Thread(target=lambda: played.append(cluster.run(script)))
        asker.start()
        await_record(cluster, "router", "token_emitted")
        pid = process_of(cluster.directory, VICTIM)
        killed_ns = time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        asker.join()
        played[0].require_well("the request that D was decoding")
        lost = await_record(cluster, "router", "node_lost")
        require_equal(lost["event"]["why"]["text"], f"{VICTIM}: its process {pid} has died", "loss")
        late_ms = {"router": ms_after(lost, killed_ns)}
        for node in ("router", "P.0", "P.1", "D.0"):
            died = await_record(cluster, node, "process_died")
            await_record(cluster, node, "process_reaped")
            require_equal(died["event"]["life"], lost["event"]["life"], f"{node}: whose death")
            late_ms[f"{node}'s guard"] = ms_after(died, killed_ns)
        ended = await_record(cluster, "client", "request_ended")
        late_ms["the client"] = ms_after(ended, killed_ns)
        print("  ms after the kill: " + ", ".join(f"{k} {v:.1f}" for k, v in late_ms.items()))
        require(max(late_ms.values()) < NOTICED_MS, f"noticed late: {late_ms}")
        refused = cluster.run(long_request(outcome="failed", reason="peer_lost"))
        refused.require_well("a request afterwards")
    with open(cluster.path("up.log"), encoding="utf-8") as log:
        require(f"{VICTIM} ended by signal 9" in log.read(), "up.log does not name the kill")
    check = command(bench, "trace", "check", cluster.directory)
    require_equal(check.code, 0, f"exit code of baton trace check ({check.tail()})")


def stopped(bench):
    with Cluster(bench, "stopped", file_of(SILENT_MS)) as cluster:
        pid = process_of(cluster.directory, VICTIM)
        os.kill(pid, signal.SIGSTOP)
        lost = await_record(cluster, "router", "node_lost")
        require("has died" not in lost["event"]["why"]["text"], f"the loss: {lost['event']}")
        require_equal(records(cluster, "router", "process_died"), [], "deaths while it is stopped")
        os.kill(pid, signal.SIGKILL)
        died = await_record(cluster, "router", "process_died")
        require_equal(died["event"]["life"], lost["event"]["life"], "whose death")
        require_equal(len(records(cluster, "router", "node_lost")), 1, "losses of one life")


def paused(bench):
    """Longer than a channel waits for a word, shorter than a peer does."""
    with Cluster(bench, "paused", file_of(60000)) as cluster:
        pid = process_of(cluster.directory, VICTIM)
        os.kill(pid, signal.SIGSTOP)
        try:
            for node in ("P.0", "P.1"):
                await_line(cluster, node, f"no channel to {VICTIM}")
        finally:
            os.kill(pid, signal.SIGCONT)
        for node in ("P.0", "P.1"):
            await_line(cluster, node, f"the channel to {VICTIM} is up again")
        script = {"name": "after", "requests": [{"id": "after", "prompt_length": 64,
                                                 "output_tokens": 8,
                                                 "expect": {"outcome": "completed"}}],
                  "expect": {"free_equals_capacity": True, "trace_check": True}}
        cluster.run(script).require_well("a request afterwards")
        require_equal(records(cluster, "router", "node_lost"), [], "losses")


def cases(_bench):
    yield "a rank that is killed while it decodes is lost by proof, and the rest ends", \
        killed_while_decoding
    yield "a rank that is stopped is lost for its silence, and called dead when it is", stopped
    yield "a rank that pauses gets its channels back, and serves again", paused


if __name__ == "__main__":
    sys.exit(play("process_death", __doc__, cases))
