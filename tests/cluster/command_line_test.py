#!/usr/bin/env python3
"""The command line as people and scripts meet it: help, wrong input, signals, and what stays.

    command_line_test.py BATON
"""
import json
import os
import shutil
import signal
import subprocess
import sys

import schema
from cases import ROOT, Failed, from_root, play, require, require_equal
from cluster import (HELLO, TEACHING, Cluster, command, hello_succeeds, process_of, processes_of,
                     read_json, sweep, write_json)

USAGE = 2
STOP_S = 20


def require_refused(ended, code, *words):
    require_equal(ended.code, code, f"exit code ({ended.tail()})")
    for word in words:
        require(word in ended.err, f"stderr does not say '{word}': {ended.err}")


def help_of_each_command(bench):
    for words in ([], ["up"], ["run"], ["status"], ["down"], ["node"], ["trace"],
                  ["trace", "show"], ["trace", "check"], ["trace", "stats"],
                  ["trace", "path"], ["trace", "blocks"], ["trace", "export"], ["bench"],
                  ["bench", "handoff"]):
        shown = command(bench, *words, "--help")
        require_equal(shown.code, 0, f"exit code of baton {' '.join(words)} --help")
        require("".join(words[-1:]) in shown.out, f"help of {words}: {shown.out}")
    require_equal(command(bench, "--version").code, 0, "exit code of baton --version")


def wrong_arguments(bench):
    require_refused(command(bench), USAGE, "baton COMMAND")
    require_refused(command(bench, "jump"), USAGE, "there is no command 'jump'")
    for words in (["up"], ["run"], ["status", "extra"], ["down", "extra"], ["node"], ["trace"],
                  ["trace", "show"], ["trace", "path"], ["trace", "path", "a", "b", "c"],
                  ["trace", "blocks"], ["trace", "export", "a"],
                  ["up", TEACHING, "--no-such-option"], ["run", HELLO, "--prompt", "both"],
                  ["run", "--prompt", "x", "--output-tokens", "0"]):
        require_equal(command(bench, *words).code, USAGE, f"exit code of baton {' '.join(words)}")


def bad_cluster_files(bench):
    good = read_json(TEACHING)
    plants = {"ranks": dict(good, groups=[dict(good["groups"][0], ranks=3), good["groups"][1]]),
              "groups": dict(good, groups=[]),
              "no_such_field": dict(good, no_such_field=1),
              "role": dict(good, groups=[dict(good["groups"][0], role="chef"), good["groups"][1]])}
    for field, content in plants.items():
        file = write_json(bench.path("bad_cluster.json"), content)
        ended = command(bench, "up", file, "--dir", bench.path("bad"), "--detach")
        require_refused(ended, USAGE, "bad_cluster.json", field)
    with open(bench.path("cut.json"), "w", encoding="utf-8") as file:
        file.write('{"name": "cut", "groups": [')
    require_refused(command(bench, "up", bench.path("cut.json"), "--dir", bench.path("bad")), USAGE,
                    "cut.json")
    require_refused(command(bench, "up", bench.path("absent.json"), "--dir", bench.path("bad")),
                    USAGE, "absent.json")


def clusters_that_cannot_start(bench):
    """What only the model's own files tell is said by the nodes."""
    good = read_json(TEACHING)
    prefill, decode = good["groups"]
    large = {key: value for key, value in decode.items() if key != "pool_blocks"}
    large["pool_bytes"] = "65GiB"
    plants = {
        "no/such/model": dict(good, executor={"kind": "llama", "model": "no/such/model"}),
        "groups.D3.pool_bytes: expected at most 4194304 blocks of 16384 bytes": (
            dict(good, groups=[prefill, large])),
        "inflight_bytes: expected at least 8192, which": (
            dict(good, inflight_bytes=8191, offer_window_bytes=8191)),
        "inflight_bytes: expected at least 16384, which": (
            dict(good, groups=[prefill, dict(decode, ranks=1)], inflight_bytes=16383,
                 offer_window_bytes=16383))}
    for text, content in plants.items():
        file = write_json(bench.path("cannot.json"), content)
        ended = command(bench, "up", file, "--dir", bench.path("cannot"), "--detach")
        require_equal(ended.code, 1, f"exit code when a node cannot start ({ended.tail()})")
        require(text in ended.out, f"it does not say '{text}': {ended.out}")
        require_equal(processes_of(bench.path("cannot")), [], "processes left")


def smallest_budgets(bench):
    """The least that is accepted serves prompts of many blocks, with equal degrees and others."""
    prompt = {"id": "long", "prompt_length": 300, "output_tokens": 4,
              "expect": {"outcome": "completed"}}
    good = read_json(TEACHING)
    prefill, decode = good["groups"]
    for ranks, least in (((2, 2), 8192), ((2, 1), 16384), ((1, 2), 8192)):
        groups = [dict(prefill, ranks=ranks[0]), dict(decode, ranks=ranks[1])]
        content = dict(good, groups=groups, inflight_bytes=least, offer_window_bytes=least)
        with Cluster(bench, f"least_{ranks[0]}to{ranks[1]}", content) as cluster:
            cluster.run({"name": "long", "requests": [prompt]}).require_well(f"{ranks} ranks")


def bad_scripts(bench):
    request = {"id": "a", "prompt": "x", "output_tokens": 4}
    plants = {"cancel.at": dict(request, cancel={"at": "starting"}),
              "output_tokens": dict(request, output_tokens=0),
              "colour": dict(request, colour="red"),
              "nowhere": dict(request, group={"decode": "nowhere"})}
    with Cluster(bench, "scripts", TEACHING) as cluster:
        for field, planted in plants.items():
            script = write_json(cluster.path("bad_script.json"),
                                {"name": "bad", "requests": [planted]})
            require_refused(command(bench, "run", script, "--dir", cluster.directory), USAGE,
                            "bad_script.json", field)
        require_refused(command(bench, "run", "absent.json", "--dir", cluster.directory), USAGE,
                        "absent.json")
        cluster.run(HELLO).require_well("a good script afterwards")


def expectations_that_fail(bench):
    with Cluster(bench, "expects", TEACHING) as cluster:
        wrong = {"id": "a", "prompt": "x", "output_tokens": 4,
                 "expect": {"outcome": "cancelled", "token_count": 5}}
        played = cluster.run({"name": "wrong", "requests": [wrong]})
        require_equal((played.code, played.report["exit_code"]), (1, 1), "exit codes")
        require_equal(len(played.report["failed"]), 2, f"failed lines: {played.report['failed']}")
        slow = {"id": "slow", "prompt": "x", "output_tokens": 4, "hold_ms": 0,
                "fault": {"stall_after_fraction": 0.0, "stall_ms": 30000, "lease_ms": 30000}}
        late = cluster.run({"name": "late", "requests": [slow], "timeout_ms": 300})
        require_equal(late.code, 3, f"exit code of a script that timed out ({late.tail})")
        cluster.run(HELLO, "--drain").require_well("a good script afterwards")


def two_in_one_directory(bench):
    with Cluster(bench, "two", TEACHING) as cluster:
        before = sorted(processes_of(cluster.directory))
        second = command(bench, "up", TEACHING, "--dir", cluster.directory, "--detach")
        require_refused(second, USAGE, cluster.directory)
        require_equal(sorted(processes_of(cluster.directory)), before, "processes of the first")
        cluster.run(HELLO).require_well("the first afterwards")


def another_run_at_its_ports(bench):
    """The directory is left over, its ports are another cluster's by now: nobody asks that one."""
    with Cluster(bench, "first", TEACHING) as first:
        ports = read_json(first.path("cluster.json"))["ports"]
        file = write_json(bench.path("same_ports.json"), dict(read_json(TEACHING), ports=ports))
        stale = bench.path("stale_ports")
        shutil.rmtree(stale, ignore_errors=True)  # what this test left in it is no run's directory
        up = command(bench, "up", file, "--dir", stale, "--detach")
        require_equal(up.code, 1, f"exit code of baton up ({up.tail()})")
        for words in (["run", "--prompt", "x"], ["status"]):
            asked = command(bench, *words, "--dir", stale)
            require_refused(asked, USAGE, "is another run of cluster 'teaching'")
            require("prompt-" not in asked.out, f"it was served: {asked.out}")
        first.run(HELLO).require_well("the first afterwards")
        os.remove(os.path.join(stale, "run_id"))
        require_refused(command(bench, "status", "--dir", stale), USAGE, "run_id")


def killed_client(bench):
    """What it owed dies with it: another client, then and later, finds the trace in order."""
    with Cluster(bench, "killed", TEACHING) as cluster:
        client = subprocess.Popen([bench.baton, "run", "--dir", cluster.directory, "--prompt", "x",
                                   "--output-tokens", "4000", "--stream"], cwd=ROOT,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        with client.stdout:
            require(client.stdout.read(1), "the client's first text")
        client.kill()
        client.wait()
        cluster.run({"name": "after", "requests": [{"id": "x", "prompt": "x", "output_tokens": 4}],
                     "expect": {"free_equals_capacity": True, "trace_check": True}}
                    ).require_well("another client beside what the killed one left")
    checked = command(bench, "trace", "check", cluster.directory)
    require_equal(checked.code, 0, f"exit code of trace check afterwards ({checked.tail()})")
    require("was not closed" in checked.out, f"the killed client is not noted: {checked.out}")


def lost_trace(bench):
    with Cluster(bench, "lost", TEACHING) as cluster:
        cluster.run(HELLO).require_well("a request")
    os.remove(os.path.join(cluster.directory, "D3.1.trace.jsonl"))
    checked = command(bench, "trace", "check", cluster.directory)
    require_equal(checked.code, 1, f"exit code of trace check ({checked.tail()})")
    require("has no trace of D3.1" in checked.out, f"the node is not named: {checked.out}")
    for words in (["stats"], ["show", "hello"], ["path", "hello"], ["path"], ["blocks", "D3"]):
        require_refused(command(bench, "trace", *words, cluster.directory), 1,
                        "has no trace of D3.1")


def unreadable_trace(bench):
    with Cluster(bench, "unreadable", TEACHING) as cluster:
        cluster.run(HELLO).require_well("a request")
    with open(cluster.path("D3.1.trace.jsonl"), "r+", encoding="utf-8") as file:
        lines = file.readlines()
        file.seek(0)
        file.writelines(lines[:1] + ["{\n"] + lines[1:])
    for words in (["stats"], ["show", "hello"], ["path", "hello"]):
        shown = command(bench, "trace", *words, cluster.directory)
        require_refused(shown, 1, "unreadable: D3.1.trace.jsonl:2")
        require("hello" in shown.out or "bytes landed" in shown.out, f"nothing shown: {shown.out}")


def status_of_a_cluster(bench):
    with Cluster(bench, "status", TEACHING) as cluster:
        cluster.run(HELLO, "--drain").require_well("a request")
        shown = command(bench, "status", "--dir", cluster.directory)
        require_equal(shown.code, 0, f"exit code of status ({shown.tail()})")
        require("D3.1 pull posix/cma" in shown.out, f"no path is shown: {shown.out}")
        said = json.loads(command(bench, "status", "--json", "--dir", cluster.directory).out)
        require_equal([(g["group"], g["free"]) for g in said["groups"]],
                      [("P7", 512), ("D3", 512)], "free blocks")
        landed = [n["bytes_landed"] for n in said["nodes"] if n["node"].startswith("D3")]
        require(len(landed) == 2 and min(landed) > 0, f"bytes landed: {said}")
        os.kill(process_of(cluster.directory, "D3.1"), signal.SIGKILL)
        one_less = command(bench, "status", "--dir", cluster.directory)
        require_equal(one_less.code, 1, f"exit code of status ({one_less.tail()})")
        require("does not answer" in one_less.out, f"the dead node answers: {one_less.out}")


def temperature_that_is_no_number(bench):
    """A rank that met one could only fail, and its group with it."""
    with Cluster(bench, "nan", TEACHING) as cluster:
        ended = command(bench, "run", "--prompt", "a", "--temperature", "nan", "--dir",
                        cluster.directory)
        require_equal(ended.code, 1, f"exit code of baton run ({ended.tail()})")
        require("temperature: expected 0 to 100" in ended.out, f"no reason: {ended.out}")
        cluster.run(HELLO, "--drain").require_well("a request afterwards")


def small_benches(bench):
    once, small = ("--rounds", "1"), ("--shrink", "64")
    runs = [(name, "--path", path, *once, *small)
            for name in ("link", "handoff", "burst", "short", "streaming")
            for path in ("pull", "tcp", "shared_arena")]
    runs += [("handshake", "--path", path, *once) for path in ("pull", "in_place")]
    runs += [("control", *once, *small), ("live", *small), ("trace", *once, *small)]
    runs += [("engine", *once, "--threads", "1"),
             ("handoff", "--path", "shared_memory", *once, *small)]
    for words in runs:
        ended = command(bench, "bench", *words)
        require_equal(ended.code, 0, f"exit code of bench {' '.join(words)} ({ended.tail()})")
        for line in ended.out.splitlines():
            said = json.loads(line)
            require_equal((said["bench"], said["rounds"]), (words[0], 1), line)
            require(said["value"] > 0 and said["baseline"] > 0, line)


def without_a_cluster(bench):
    nothing = bench.path("nothing")
    require_refused(command(bench, "run", HELLO, "--dir", nothing), USAGE, nothing)
    require_refused(command(bench, "status", "--dir", nothing), USAGE, nothing)
    require_refused(command(bench, "down", "--dir", nothing), 1, nothing)
    for words in (["check"], ["stats"], ["show", "hello"], ["path"], ["blocks", "D3"]):
        require_refused(command(bench, "trace", *words, nothing), 1, nothing)
    with Cluster(bench, "gone", TEACHING) as cluster:
        pass
    late = command(bench, "run", HELLO, "--dir", cluster.directory)
    require_refused(late, USAGE, "baton run")


def started_again(bench):
    """A directory may be used again; what it says is then about the new cluster alone."""
    with Cluster(bench, "again", TEACHING) as cluster:
        cluster.run(HELLO).require_well("first life")
        require_equal(command(bench, "down", "--dir", cluster.directory).code, 0, "down")
        again = command(bench, "up", TEACHING, "--dir", cluster.directory, "--detach")
        require_equal(again.code, 0, f"exit code of the second baton up ({again.tail()})")
        cluster.run(HELLO).require_well("second life")
        require_equal(cluster.stats()["requests"], 1, "requests in the trace")


def stale_process_number(bench):
    """A number that a killed supervisor left may be another process's by now: it is let alone."""
    directory = bench.path("stale")
    os.makedirs(directory, exist_ok=True)
    other = subprocess.Popen(["sleep", "60"])
    try:
        with open(os.path.join(directory, "up.pid"), "w", encoding="ascii") as file:
            file.write(str(other.pid))
        require_refused(command(bench, "down", "--dir", directory), 1, "no cluster runs in")
        require_equal(other.poll(), None, "the other process")
        up = command(bench, "up", TEACHING, "--dir", directory, "--detach")
        require_equal(up.code, 0, f"exit code of baton up ({up.tail()})")
        require_equal(command(bench, "down", "--dir", directory).code, 0, "exit code of baton down")
        require_equal(other.poll(), None, "the other process")
    finally:
        other.kill()
        other.wait()
        sweep(directory)


def node_by_hand(bench):
    """What `baton up` does, done by hand: each node of a resolved cluster file, one by one."""
    with Cluster(bench, "by_hand", TEACHING) as cluster:
        pass
    names = ("router", "P7.0", "P7.1", "D3.0", "D3.1")
    nodes = [subprocess.Popen([bench.baton, "node", "--dir", cluster.directory, "--name", name],
                              cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
             for name in names]
    try:
        require(hello_succeeds(bench, cluster.directory, STOP_S),
                f"no request succeeded in {STOP_S} s")
        for node in nodes:
            node.send_signal(signal.SIGTERM)
        require_equal([node.wait(timeout=STOP_S) for node in nodes], [0] * len(nodes), "exit codes")
    finally:
        for node in nodes:
            node.kill()
            node.wait()


def schema_case(kind):
    def body(_bench):
        rules = read_json(from_root("deploy", "schema", f"{kind}.schema.json"))
        folder = from_root("deploy", {"cluster": "cluster", "script": "scenarios"}[kind])
        files = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
        require(files, f"no files in {folder}")
        for name in files:
            content = read_json(os.path.join(folder, name))
            require_equal(schema.breaches(rules, content), [], name)
            require(schema.breaches(rules, dict(content, surprise=1)), f"{name}: no surprise")
            require(schema.breaches(rules, dict(content, name=7)), f"{name}: a number as name")
    return f"every shipped {kind} file fits deploy/schema/{kind}.schema.json", body


def cases(_bench):
    yield "--help of each command exits 0", help_of_each_command
    yield "wrong arguments exit 2", wrong_arguments
    yield "a bad cluster file is refused by file and field", bad_cluster_files
    yield "a cluster that cannot start says why", clusters_that_cannot_start
    yield "the smallest budget of bytes in flight serves long prompts", smallest_budgets
    yield "a bad script is refused by file and field", bad_scripts
    yield "expectations that fail exit 1, and a script that is not over in time 3", (
        expectations_that_fail)
    yield "a second cluster in one directory is refused", two_in_one_directory
    yield "a run directory whose ports are another run's by now is told apart", (
        another_run_at_its_ports)
    yield "a client that is killed leaves nothing that the trace check minds", killed_client
    yield "a node's trace that is lost is missed", lost_trace
    yield "an unreadable line is said by every reader of traces", unreadable_trace
    yield "status shows pools, bytes and paths, and who does not answer", status_of_a_cluster
    yield "a temperature that is no number is refused, and harms nobody", (
        temperature_that_is_no_number)
    yield "each bench says one JSON object", small_benches
    yield "without a cluster every command says so", without_a_cluster
    yield "a run directory can be used again", started_again
    yield "a process number that is left over is no cluster", stale_process_number
    yield "nodes may be started by hand", node_by_hand
    for kind in ("cluster", "script"):
        yield schema_case(kind)


if __name__ == "__main__":
    sys.exit(play("command_line", __doc__, cases))
