#!/usr/bin/env python3
"""Whole clusters against an independent implementation: greedy tokens and logits of a trained model
that three other programs agree on, computed in double precision.

    golden_test.py BATON
"""
import array
import os
import sys

from cases import Skipped, play, require, require_equal
from cluster import STORIES, Cluster, file_of, split_groups

TOKENS = 201
VOCABULARY = 512
LOGIT_ERROR_MAX = 1e-4
PROMPTS = (1, 100)  # the second moves seven blocks, computed in two chunks


def read_array(path, kind):
    values = array.array(kind)
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values


def golden_case(prefill_ranks, decode_ranks):
    def body(bench):
        if not os.path.isdir(STORIES):
            raise Skipped("stories260K is not at hand")
        ids = read_array(os.path.join(STORIES, "golden_greedy_ids_i32.bin"), "i")
        golden = read_array(os.path.join(STORIES, "golden_logits_f32.bin"), "f")
        require_equal((len(ids), len(golden)), (TOKENS, TOKENS * VOCABULARY), "golden files")
        name = f"tp{prefill_ranks}to{decode_ranks}"
        groups = split_groups(prefill_ranks, decode_ranks, 64)
        file = file_of(name, os.path.join(STORIES, "hf"), "f32", groups)
        with Cluster(bench, name, file) as cluster:
            for prompt in PROMPTS:
                continue_golden(cluster, ids, golden, prompt)
    return f"TP {prefill_ranks} to TP {decode_ranks} gives the golden tokens and logits", body


def continue_golden(cluster, ids, golden, prompt):
    """Asks for what follows the first `prompt` golden tokens, one more than the file has."""
    logits_path = cluster.path("logits.bin")
    count = TOKENS - prompt + 1
    played = cluster.run(
        {"name": "golden",
         "requests": [{"id": "golden", "prompt_tokens": list(ids[:prompt]),
                       "output_tokens": count, "ignore_eos": True, "record_logits": True,
                       "expect": {"outcome": "completed", "token_count": count}}],
         "expect": {"free_equals_capacity": True, "trace_check": True}},
        "--logits", logits_path).require_well(f"the golden request with {prompt} tokens")
    require_equal(played.requests["golden"]["tokens"][:-1], list(ids[prompt:]), "tokens")
    logits = read_array(logits_path, "f")
    expected = golden[(prompt - 1) * VOCABULARY:]
    require_equal(len(logits), len(expected), "logits")
    far = [i for i, (a, b) in enumerate(zip(logits, expected)) if not abs(a - b) < LOGIT_ERROR_MAX]
    require(not far, f"{len(far)} logits differ, the first is {far[:1]}")
    worst = max(abs(a - b) for a, b in zip(logits, expected))
    print(f"  prompt {prompt}, {count} tokens: largest difference of a logit {worst:.3g}")


def cases(_bench):
    return [golden_case(p, d) for p, d in ((1, 1), (2, 2), (1, 2), (2, 1))]


if __name__ == "__main__":
    sys.exit(play("golden", __doc__, cases))
