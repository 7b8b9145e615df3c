"""One running cluster in a run directory of its own, seen as an operator sees it: `baton up`,
`run`, `trace` and `down` in real processes. Leaving the `with` block ends every process of it.
"""
import json
import os
import shutil
import signal
import subprocess
import threading
import time

from cases import ROOT, Failed, from_root, require, require_equal

UP_S = 60
DOWN_S = 30
TRACE_S = 120


class Ended:
    """A command that has ended."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    def tail(self, lines=15):
        return "\n".join((self.out + self.err).splitlines()[-lines:])


def command(bench, *arguments, wait_s=UP_S, cwd=ROOT):
    """Runs `baton` to its end. A command that outlives wait_s is killed: the case has failed."""
    try:
        done = subprocess.run([bench.baton, *arguments], cwd=cwd, capture_output=True,
                              timeout=wait_s, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"baton {' '.join(arguments)}: not over after {wait_s} s:"
                     f" {(late.stdout or b'')[-500:]!r}") from late
    return Ended(done.returncode, done.stdout.decode(errors="replace"),
                 done.stderr.decode(errors="replace"))


def processes_of(directory):
    """Process ids of `baton up` and `baton node` that name this run directory; zombies are over."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue  # ended meanwhile
        if directory.encode() in words and {b"up", b"node"} & set(words):
            found.append(int(entry))
    return found


def process_of(directory, node):
    """The process of one node."""
    for pid in processes_of(directory):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if node.encode() in file.read().split(b"\0"):
                return pid
    raise LookupError(f"no process of {node}")


def sweep(directory):
    """Ends what a failed case may have left, by the ids of this run directory's processes."""
    for pid in processes_of(directory):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def wait_until(holds, wait_s):
    """Looks again until `holds()` or the time is up; the last answer."""
    end = time.monotonic() + wait_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    return path


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Played:
    """A script that was played: exit code, output, and the report by request id."""

    def __init__(self, ended, report):
        self.code = ended.code
        self.out = ended.out
        self.tail = ended.tail()
        self.report = report
        self.requests = {r["id"]: r for r in report["requests"]} if report else {}

    def require_well(self, what):
        require(self.code == 0, f"{what}: exit code {self.code}:\n{self.tail}")
        return self


class Cluster:
    """`file` is a path, or the content of a cluster file as a dict."""

    def __init__(self, bench, name, file):
        self.bench = bench
        self.directory = bench.path(name)
        self.scripts = 0
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        is_path = isinstance(file, str)
        self.file = file if is_path else write_json(self.path("asked_cluster.json"), file)

    def path(self, name):
        return os.path.join(self.directory, name)

    def __enter__(self):
        try:
            up = command(self.bench, "up", self.file, "--dir", self.directory, "--detach")
            require(up.code == 0 and "cluster formed" in up.out,
                    f"baton up: exit code {up.code}:\n{up.tail()}")
        except BaseException:
            sweep(self.directory)
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            down = command(self.bench, "down", "--dir", self.directory, wait_s=DOWN_S)
            left = processes_of(self.directory)
            if kind is None:
                require_equal(down.code, 0, f"exit code of baton down ({down.tail()})")
                require_equal(left, [], "processes left by baton down")
        finally:
            sweep(self.directory)

    def run(self, script, *options, wait_s=180):
        """Plays a script (a path or a dict)."""
        self.scripts += 1
        if not isinstance(script, str):
            script = write_json(self.path(f"script_{self.scripts}.json"), script)
        report = self.path(f"report_{self.scripts}.json")
        ended = command(self.bench, "run", script, "--dir", self.directory, "--json", report,
                        *options, wait_s=wait_s)
        return Played(ended, read_json(report) if os.path.exists(report) else None)

    def start(self, script):
        """Begins to play a script, beside what the case does next; to be given to `finish`."""
        played = []
        asker = threading.Thread(target=lambda: played.append(self.run(script)))
        asker.start()
        return asker, played

    def finish(self, started):
        asker, played = started
        asker.join()
        return played[0]

    def require_trace(self):
        """The trace breaks no invariant; for a cluster that is idle."""
        check = command(self.bench, "trace", "check", "--idle", self.directory, wait_s=TRACE_S)
        require(check.code == 0 and "trace check: ok" in check.out,
                f"baton trace check: exit code {check.code}:\n{check.tail()}")

    def stats(self):
        stats = command(self.bench, "trace", "stats", "--json", self.directory, wait_s=TRACE_S)
        require_equal(stats.code, 0, f"exit code of baton trace stats ({stats.tail()})")
        return json.loads(stats.out)

    def require_explained(self, share=0.99):
        """`trace path` names that share of each first token's time, and of that between tokens."""
        path = command(self.bench, "trace", "path", "--json", self.directory, wait_s=TRACE_S)
        require_equal(path.code, 0, f"exit code of baton trace path ({path.tail()})")
        said = json.loads(path.out)
        for part in (said["least_explained"], said["between_tokens"]):
            require(part["explained_share"] >= share, f"less is explained: {path.out}")
        return said

    def trace_records(self, node):
        """Every record of one node's trace, after the header."""
        with open(self.path(f"{node}.trace.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file][1:]


# -- cluster files --------------------------------------------------------------------------------

KJV = from_root("deploy", "models", "kjv-1.6m")
STORIES = from_root("..", "shared", "data", "models", "stories260K")


TEACHING = from_root("deploy", "cluster", "teaching.json")
HELLO = from_root("deploy", "scenarios", "hello.json")


def hello_succeeds(bench, directory, wait_s):
    """Asks until the cluster has formed: requests that come before are told so."""
    return wait_until(lambda: command(bench, "run", HELLO, "--dir", directory).code == 0, wait_s)


def file_of(name, model, dtype, groups, **more):
    """Leases are long: a busy machine is no fault of the hand-off."""
    return {"name": name, "executor": {"kind": "llama", "model": model},
            "kv": {"dtype": dtype, "block_tokens": 16}, "lease": {"ms_min": 60000},
            "groups": groups, **more}


def split_groups(prefill_ranks, decode_ranks, chunk):
    return [{"name": "P", "role": "prefill", "ranks": prefill_ranks, "pool_blocks": 512,
             "prefill_chunk_tokens": chunk},
            {"name": "D", "role": "decode", "ranks": decode_ranks, "pool_blocks": 512,
             "decode_slots": 8}]


def mixed_group(ranks=1, chunk=64):
    return [{"name": "M", "role": "mixed", "ranks": ranks, "pool_blocks": 512,
             "prefill_chunk_tokens": chunk, "decode_slots": 8}]
