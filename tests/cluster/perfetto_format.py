"""The rules of Chrome's JSON trace event format, as far as `baton trace export` makes use of it:
who breaks one is named. Perfetto's importer drops what breaks them without a word.
"""
from collections import defaultdict

from cases import require, require_equal

FIELDS = {"M": {"name", "args"}, "X": {"name", "cat", "ts", "dur"},
          "s": {"name", "cat", "id", "ts"}, "f": {"name", "cat", "id", "ts", "bp"},
          "C": {"name", "ts", "args"}}
METADATA = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index",
            "thread_sort_index": "sort_index"}
NS = 1000  # the format counts microseconds, we write nanoseconds: compared as whole numbers


def ns(us):
    return round(us * NS)


def require_fields(event):
    require(event.get("ph") in FIELDS, f"an event of no phase that we write: {event}")
    lacking = (FIELDS[event["ph"]] | {"pid", "tid"}) - set(event)
    require(not lacking, f"{lacking} are lacking in {event}")
    for number in ("pid", "tid"):
        require(isinstance(event[number], int) and event[number] >= 0, f"{number} of {event}")
    for time in ("ts", "dur"):
        value = event.get(time, 0)
        require(isinstance(value, (int, float)) and value >= 0, f"{time} of {event}")
    if event["ph"] == "M":
        require(event["name"] in METADATA, f"metadata of no known name: {event}")
        require(METADATA[event["name"]] in event["args"], f"metadata that says nothing: {event}")


def by_phase(events):
    found = defaultdict(list)
    for event in events:
        require_fields(event)
        found[event["ph"]].append(event)
    return found


def require_names(found):
    """Every process and every track of slices has one name."""
    processes, tracks = defaultdict(list), defaultdict(list)
    for event in found["M"]:
        if event["name"] == "process_name":
            processes[event["pid"]].append(event["args"]["name"])
        if event["name"] == "thread_name":
            tracks[event["pid"], event["tid"]].append(event["args"]["name"])
    for names in list(processes.values()) + list(tracks.values()):
        require_equal(len(names), 1, f"names of one track: {names}")
    for event in found["X"]:
        require((event["pid"], event["tid"]) in tracks, f"a slice on a nameless track: {event}")
        require(event["pid"] in processes, f"a slice in a nameless process: {event}")
    require_equal(len({tid for _, tid in tracks}), len(tracks), "a number for each track")
    return processes, tracks


def slices_by_track(found):
    """(begin, end) in ns; on one track they nest or follow each other."""
    tracks = defaultdict(list)
    for event in found["X"]:
        begin = ns(event["ts"])
        tracks[event["pid"], event["tid"]].append((begin, begin + ns(event["dur"])))
    for track, slices in tracks.items():
        slices.sort(key=lambda one: (one[0], -one[1]))
        open_ends = []
        for begin, end in slices:
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            require(not open_ends or end <= open_ends[-1], f"slices overlap on {track} at {begin}")
            open_ends.append(end)
    return tracks


def require_flows(found, tracks):
    """One beginning and one end for each id, in this order, each within a slice."""
    begins = {event["id"]: event for event in found["s"]}
    ends = {event["id"]: event for event in found["f"]}
    require_equal(len(begins), len(found["s"]), "ids of flows that begin")
    require_equal(len(ends), len(found["f"]), "ids of flows that end")
    require_equal(set(begins), set(ends), "ids that begin, and that end")
    starts = {track: {begin for begin, _ in slices} for track, slices in tracks.items()}
    for number, begin in begins.items():
        end = ends[number]
        require(begin["ts"] <= end["ts"], f"a flow against the clock: {begin} {end}")
        require_equal((begin["name"], begin["cat"]), (end["name"], end["cat"]), "a flow's name")
        require_equal(end["bp"], "e", "what a flow's end is bound to")
        for event in (begin, end):
            at = starts.get((event["pid"], event["tid"]), set())
            require(ns(event["ts"]) in at, f"a flow outside of every slice: {event}")


def require_counters(found, capacity):
    """Values are numbers, times rise, and every block is counted once: capacity by counter."""
    last = {}
    for event in found["C"]:
        name = event["name"]
        require_equal(sum(event["args"].values()), capacity[name], f"blocks in {event}")
        require(min(event["args"].values()) >= 0, f"less than no block: {event}")
        require(event["ts"] >= last.get(name, 0), f"a counter against the clock: {event}")
        last[name] = event["ts"]
    require_equal(set(last), set(capacity), "counters")


def require_format(trace, capacity):
    """The events by phase, and the tracks' names, of a trace that keeps every rule."""
    require_equal(trace["displayTimeUnit"], "ms", "displayTimeUnit")
    found = by_phase(trace["traceEvents"])
    _, names = require_names(found)
    require_flows(found, slices_by_track(found))
    require_counters(found, capacity)
    return found, names
