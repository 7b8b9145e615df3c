#!/usr/bin/env python3
"""The teaching shape: a prompt of 8,192 tokens, 2.5 GiB of KV in 2 x 512 blocks, every byte
verified where it landed; three such reservations fill a pool of 8 GiB, and the fourth is refused by
figures.

    teaching_test.py BATON       wants 12 GiB of memory; without them the case is skipped
"""
import sys

from cases import Skipped, from_root, play, require, require_equal
from cluster import Cluster, read_json

GIB = 1 << 30
MEMORY_BYTES = 12 * GIB
BLOCK_BYTES = 2 * 80 * 8 * 128 * 2 * 16  # K and V, layers, heads, dimension, bf16, tokens
PAYLOAD_BYTES = 2_684_354_560
RESERVED_BYTES = 2_726_297_600
BLOCKS_PER_RANK = 512
RUN_S = 240


def memory_available():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def landed_blocks(cluster, node):
    """Bytes by block of the pieces that landed on one rank; the resume state is no block's."""
    pieces = [record["event"] for record in cluster.trace_records(node)
              if record.get("message") == "piece_landed"]
    blocks = [piece for piece in pieces if piece["resume_digest"] == 0]
    landed = {piece["block"]["block"]: piece["bytes"] for piece in blocks}
    require_equal(len(blocks), len(landed), f"{node}: pieces, and different blocks among them")
    return landed


def require_payload(cluster, ranks):
    landed = {node: landed_blocks(cluster, node) for node in ranks}
    require_equal({node: len(blocks) for node, blocks in landed.items()},
                  dict.fromkeys(ranks, BLOCKS_PER_RANK), "blocks landed")
    require_equal(sum(sum(blocks.values()) for blocks in landed.values()), PAYLOAD_BYTES,
                  "bytes landed in blocks")
    resume = sum(cluster.stats()["bytes_landed_by_node"].values()) - PAYLOAD_BYTES
    require(0 < resume < 1 << 20, f"the lanes counted {resume} bytes beside the blocks'")


def require_refusal(refused, pool_bytes):
    require_equal((refused["outcome"], refused["reason"]), ("refused", "no_capacity"), "the fourth")
    pool_blocks = pool_bytes // BLOCK_BYTES
    free = pool_blocks - 3 * (RESERVED_BYTES // BLOCK_BYTES)
    for figure in (f"needs {RESERVED_BYTES} bytes ({RESERVED_BYTES // BLOCK_BYTES} blocks)",
                   f"free are {free * BLOCK_BYTES} bytes ({free} blocks)",
                   f"of {pool_blocks * BLOCK_BYTES} bytes ({pool_blocks} blocks)"):
        require(figure in refused["message"], f"no \"{figure}\" in \"{refused['message']}\"")


def teaching(bench):
    if memory_available() < MEMORY_BYTES:
        raise Skipped(f"{memory_available() / GIB:.1f} GiB of memory are available, 12 are wanted")
    file = from_root("deploy", "cluster", "teaching_synthetic.json")
    with Cluster(bench, "run", file) as cluster:
        decode = read_json(cluster.path("cluster.json"))["groups"][1]
        require_equal(decode["pool_bytes"], 8 * GIB, "the decode group's pool")
        played = cluster.run(from_root("deploy", "scenarios", "teaching.json"), wait_s=RUN_S)
        played.require_well("teaching")
        require_equal(played.requests["req-8k-017"]["outcome"], "completed", "req-8k-017")
        require_refusal(played.requests["the-fourth"], decode["pool_bytes"])
        require_payload(cluster, ("D3.0", "D3.1"))
        cluster.require_trace()
        first, last = (played.requests["req-8k-017"][field] for field in ("ttft_ms", "total_ms"))
        print(f"  first token after {first:.0f} ms, all after {last:.0f} ms")


def cases(_bench):
    yield "8,192 tokens arrive as 2 x 512 verified blocks, and the fourth is refused", teaching


if __name__ == "__main__":
    sys.exit(play("teaching", __doc__, cases))
