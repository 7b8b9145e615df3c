#!/usr/bin/env python3
"""How clusters and clients end: by signals, closed terminals, readers that go, and `baton down`.

    endings_test.py BATON
"""
import os
import signal
import subprocess
import sys

from cases import ROOT, Failed, Skipped, play, require, require_equal
from cluster import (Cluster, command, hello_succeeds, processes_of, read_json, sweep, wait_until,
                     write_json, HELLO, TEACHING)

STOP_S = 20
NOBODY = 65534


def require_forms(bench, directory):
    require(hello_succeeds(bench, directory, STOP_S), f"no request succeeded in {STOP_S} s")


def with_hang_up(action):
    """For `preexec_fn`: whoever started this program may ignore SIGHUP, which children inherit."""
    return lambda: signal.signal(signal.SIGHUP, action)


def attached(bench, directory, hang_up=signal.SIG_DFL):
    """`baton up` that stays in front; its output goes to a file that is looked at."""
    with open(bench.path("up.out"), "wb") as out:
        return subprocess.Popen([bench.baton, "up", TEACHING, "--dir", directory], cwd=ROOT,
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                preexec_fn=with_hang_up(hang_up))


def end(up, directory):
    up.kill()
    up.wait()
    sweep(directory)


def shows(bench, text):
    with open(bench.path("up.out"), encoding="utf-8") as file:
        return text in file.read()


def signal_case(number, when):
    def body(bench):
        directory = bench.path(f"{number.name}_{when}")
        up = attached(bench, directory)
        try:
            text = {"forming": "started", "formed": "cluster formed"}[when]
            require(wait_until(lambda: shows(bench, text), STOP_S), f"up never said '{text}'")
            if when == "formed":
                require_equal(len(processes_of(directory)), 6, "processes of the cluster")
                # A request that is open must not keep the cluster up.
                stalled = {"id": "open", "prompt": "x", "output_tokens": 4, "fault": {
                    "stall_after_fraction": 0.0, "stall_ms": 30000, "lease_ms": 30000}}
                script = write_json(bench.path("open.json"), {"name": "open", "timeout_ms": 300,
                                                              "requests": [stalled]})
                command(bench, "run", script, "--dir", directory)
            up.send_signal(number)
            require_equal(up.wait(timeout=STOP_S), 0, "exit code of baton up")
            require_equal(processes_of(directory), [], "processes left")
        except subprocess.TimeoutExpired as late:
            raise Failed(f"baton up has not ended {STOP_S} s after {number.name}") from late
        finally:
            end(up, directory)
    return f"{number.name} while {when} ends baton up with 0 and no process left", body


def closed_terminal(bench):
    """The whole job hears of it, as from a shell: nodes write their traces out all the same."""
    directory = bench.path("terminal")
    with open(bench.path("up.out"), "wb") as out:
        up = subprocess.Popen([bench.baton, "up", TEACHING, "--dir", directory], cwd=ROOT,
                              stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                              start_new_session=True, preexec_fn=with_hang_up(signal.SIG_DFL))
    try:
        require_forms(bench, directory)
        os.killpg(up.pid, signal.SIGHUP)
        require_equal(up.wait(timeout=STOP_S), 0, "exit code of baton up")
        require_equal(processes_of(directory), [], "processes left")
        checked = command(bench, "trace", "check", directory)
        require_equal(checked.code, 0, f"exit code of trace check ({checked.tail()})")
        require("was not closed" not in checked.out, f"a trace was cut: {checked.out}")
    finally:
        end(up, directory)


def ignored_hang_up(bench):
    directory = bench.path("nohup")
    up = attached(bench, directory, hang_up=signal.SIG_IGN)
    try:
        require(wait_until(lambda: shows(bench, "cluster formed"), STOP_S), "up never formed")
        for pid in processes_of(directory):
            os.kill(pid, signal.SIGHUP)
        asked = command(bench, "run", HELLO, "--dir", directory)
        require_equal(asked.code, 0, f"exit code of baton run ({asked.tail()})")
        require_equal(len(processes_of(directory)), 6, "processes of the cluster")
        require_equal(command(bench, "down", "--dir", directory).code, 0, "exit code of baton down")
        require_equal(up.wait(timeout=STOP_S), 0, "exit code of baton up")
    finally:
        end(up, directory)


def hung_up_client(bench):
    with Cluster(bench, "client", TEACHING) as cluster:
        client = subprocess.Popen([bench.baton, "run", "--dir", cluster.directory, "--prompt", "x",
                                   "--output-tokens", "4000", "--stream"], cwd=ROOT,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL,
                                  preexec_fn=with_hang_up(signal.SIG_DFL))
        try:
            with client.stdout:
                require(client.stdout.read(1), "the client's first text")
            client.send_signal(signal.SIGHUP)
            require_equal(client.wait(timeout=STOP_S), -signal.SIGHUP, "exit code of baton run")
        except subprocess.TimeoutExpired as late:
            raise Failed(f"baton run has not ended {STOP_S} s after SIGHUP") from late
        finally:
            client.kill()
            client.wait()
        cluster.run({"name": "after", "requests": [{"id": "x", "prompt": "x", "output_tokens": 4}],
                     "expect": {"free_equals_capacity": True}}).require_well("another client")


def stopped_by_a_stranger(bench):
    if os.geteuid() != 0:
        raise Skipped("only root can ask as somebody else")
    with Cluster(bench, "stranger", TEACHING) as cluster:
        def down():
            return subprocess.run([bench.baton, "down", "--dir", cluster.directory], cwd="/",
                                  user=NOBODY, group=NOBODY, capture_output=True, timeout=STOP_S,
                                  stdin=subprocess.DEVNULL, text=True, check=False)
        try:
            refused = down()
        except PermissionError as why:
            raise Skipped(f"nobody else can start {bench.baton}") from why
        require_equal(refused.returncode, 1, "exit code of baton down")
        require("cannot be stopped: Operation not permitted" in refused.stderr, refused.stderr)
        os.chmod(cluster.path("up.pid"), 0o600)
        hidden = down()
        require_equal(hidden.returncode, 1, "exit code of baton down")
        require("up.pid: Permission denied" in hidden.stderr, hidden.stderr)
        cluster.run(HELLO).require_well("the cluster afterwards")


def killed_supervisor(bench):
    directory = bench.path("killed")
    up = attached(bench, directory)
    try:
        require(wait_until(lambda: shows(bench, "cluster formed"), STOP_S), "up never formed")
        up.kill()
        up.wait()
        require(wait_until(lambda: not processes_of(directory), STOP_S),
                f"processes left: {processes_of(directory)}")
        again = command(bench, "up", TEACHING, "--dir", directory, "--detach")
        require_equal(again.code, 0, f"exit code of the next baton up ({again.tail()})")
        require_equal(command(bench, "down", "--dir", directory).code, 0, "exit code of baton down")
    finally:
        end(up, directory)


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if name.startswith("baton")}


def interrupted_starts(bench):
    """Ends the start after ever longer times, which meet it in every step: always within seconds,
    and never with a process or shared memory left. Before it says a word it may die of the signal.
    """
    before = shared_memory()
    directory = bench.path("interrupted")
    for delay_ms in range(0, 480, 30):
        up = attached(bench, directory)
        try:
            wait_until(lambda: False, delay_ms / 1000)
            up.send_signal(signal.SIGINT)
            code = up.wait(timeout=STOP_S)
            said = shows(bench, "started")
            require(code == 0 or (code == -signal.SIGINT and not said),
                    f"exit code {code} when interrupted after {delay_ms} ms")
            require(not shows(bench, "is killed"), f"a node was killed after {delay_ms} ms")
            require_equal(processes_of(directory), [], f"processes left after {delay_ms} ms")
        finally:
            end(up, directory)
    require(shared_memory() <= before, f"left: {sorted(shared_memory() - before)}")


def reader_gone(bench):
    """`baton up | head -1`: the cluster goes on when nobody reads its lines any more."""
    directory = bench.path("reader")
    up = subprocess.Popen([bench.baton, "up", TEACHING, "--dir", directory], cwd=ROOT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        up.stdout.readline()
        up.stdout.close()
        require_forms(bench, directory)
        require_equal(command(bench, "down", "--dir", directory).code, 0, "exit code of baton down")
        require_equal(up.wait(timeout=STOP_S), 0, "exit code of baton up")
    finally:
        end(up, directory)


def shared_memory_goes(bench):
    before = shared_memory()
    file = write_json(bench.path("arena.json"), dict(read_json(TEACHING), path="shared_arena"))
    with Cluster(bench, "arena", file) as cluster:
        cluster.run(HELLO).require_well("hello by shared arena")
        require(shared_memory() <= before, "the groups' meeting places outlive the meeting")
    require(shared_memory() <= before, f"left: {sorted(shared_memory() - before)}")


def cases(_bench):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for when in ("forming", "formed"):
            yield signal_case(number, when)
    yield "a terminal that closes ends baton up and its nodes in order", closed_terminal
    yield "a cluster that was told to ignore SIGHUP goes on", ignored_hang_up
    yield "SIGHUP ends baton run, and nothing of it stays", hung_up_client
    yield "baton down by somebody without permission says so at once", stopped_by_a_stranger
    yield "a start that is interrupted at any moment ends soon and leaves nothing", (
        interrupted_starts)
    yield "nodes do not outlive a supervisor that is killed, and the next may start", (
        killed_supervisor)
    yield "a cluster goes on when nobody reads its lines", reader_gone
    yield "no shared memory stays", shared_memory_goes


if __name__ == "__main__":
    sys.exit(play("endings", __doc__, cases))
