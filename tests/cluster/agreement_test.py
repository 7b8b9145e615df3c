#!/usr/bin/env python3
"""A hand-off changes nothing: tokens, digests of the logits and of the KV cache are those of one
colocated group, whatever the degree of tensor parallelism on either side, the path of the payload,
the prefill chunk, and the company in the batch: eight sequences do decode together.

    agreement_test.py BATON           a selection in which every pair of values occurs
    agreement_test.py BATON --full    every combination, in both KV dtypes
"""
import itertools
import os
import random
import sys

from cases import Skipped, play, require, require_equal
from cluster import KJV, STORIES, Cluster, file_of, mixed_group, read_json, split_groups

MODELS = {"kjv-1.6m": (KJV, 256, "bf16"),
          "stories260K": (os.path.join(STORIES, "hf"), 512, "f32")}
DEGREES = ((1, 1), (2, 2), (1, 2), (2, 1))
PATHS = ("pull", "shared_arena", "loopback", "in_place")
CHUNKS = (1, 7, 64, 4096)
ALWAYS = tuple((("kjv-1.6m", "bf16"), (tp, tp), "in_place", 64) for tp in (1, 2))
PROMPT_LENGTHS = [1, 9, 16, 17, 64, 65, 130, 200]  # around blocks of 16 and chunks of 64
OUTPUT_TOKENS = 24
ARRIVAL_MS = 7
PATIENCE = {"run_s": 170, "retries": 0}  # for one script; large_model_test.py has more
# Who comes first and decodes for so long that the compared ones find seven of the eight slots busy.
COMPANY = {"count": 7, "output_tokens": 80, "together": 8}
DECODE = 3  # slice_kind::decode in a trace
SEEDED = {"temperature": 0.9, "top_k": 60, "top_p": 0.95}
COMPARED = ("tokens", "logits_digests", "kv_digest", "finish")


def requests_of(vocabulary, gap_ms):
    """Each prompt once greedily and once seeded; one after the other arrives."""
    all_of_them = []
    for length in PROMPT_LENGTHS:
        draw = random.Random(length)
        ids = [draw.randrange(3, vocabulary) for _ in range(length)]
        for how, sampling in (("greedy", {}), ("seeded", dict(SEEDED, seed=length))):
            all_of_them.append(
                {"id": f"{how}-{length}", "prompt_tokens": ids, "output_tokens": OUTPUT_TOKENS,
                 "ignore_eos": True, "sampling": sampling, "record_logits": True,
                 "record_kv_digest": True, "queue_ms": 1000 * PATIENCE["run_s"],
                 "retries": PATIENCE["retries"],
                 "at_ms": gap_ms * len(all_of_them),
                 "expect": {"outcome": "completed", "token_count": OUTPUT_TOKENS}})
    return all_of_them


def company():
    """Prompts of one token, soon computed. Not compared, but each says what the first says."""
    return [{"id": f"company-{i}", "prompt_tokens": [3], "output_tokens": COMPANY["output_tokens"],
             "ignore_eos": True, "retries": PATIENCE["retries"],
             "expect": {"outcome": "completed", "token_count": COMPANY["output_tokens"],
                        **({"same_as": "company-0"} if i else {})}}
            for i in range(COMPANY["count"])]


def script(name, requests, max_open):
    return {"name": name, "requests": requests, "max_open": max_open,
            "timeout_ms": 1000 * PATIENCE["run_s"],
            "expect": {"free_equals_capacity": True, "trace_check": True}}


def answers(played):
    """What a client saw of each request, and that nothing is missing in it."""
    seen = {}
    compared = {name: request for name, request in played.requests.items()
                if not name.startswith("company")}
    require_equal(len(compared), 2 * len(PROMPT_LENGTHS), "answers to compare")
    for name, request in compared.items():
        for field in COMPARED:
            require(field in request, f"{name}: the report has no {field}")
        require_equal(len(request["logits_digests"]), OUTPUT_TOKENS, f"{name}: logits digests")
        seen[name] = {field: request[field] for field in COMPARED}
    caches = {request["kv_digest"] for request in seen.values()}
    require(len(caches) >= len(PROMPT_LENGTHS), "different prompts have the same KV digest")
    return seen


def most_together(cluster, group):
    """Sequences in the largest decode step that the group's first rank has computed so far."""
    most = 0
    for record in cluster.trace_records(f"{group}.0"):
        if record["message"] == "run_step":
            kinds = [part["kind"] for part in record["event"]["slices"]]
            most = max(most, kinds.count(DECODE))
    return most


def play_both(cluster, vocabulary, decoder):
    """The answers when each request is alone, and when they meet in a batch of eight slots."""
    wait_s = PATIENCE["run_s"] + 10
    alone = cluster.run(script("alone", requests_of(vocabulary, 0), 1), wait_s=wait_s)
    alone.require_well("alone")
    require_equal(most_together(cluster, decoder), 1, "sequences in a step when each is alone")
    together = company() + requests_of(vocabulary, ARRIVAL_MS)
    batched = cluster.run(script("batched", together, 64), wait_s=wait_s)
    batched.require_well("batched")
    most = most_together(cluster, decoder)
    require(most >= COMPANY["together"], f"no more than {most} sequences were in one decode step")
    return {"alone": answers(alone), "batched": answers(batched)}


def require_same(found, reference, how):
    for name, expected in reference.items():
        for field in COMPARED:
            require_equal(found[name][field], expected[field], f"{how}: {name}: {field}")


class References:
    """The answers of one colocated rank for a model and dtype; computed once."""

    def __init__(self):
        self.known = {}

    def of(self, bench, model, dtype):
        if (model, dtype) not in self.known:
            folder, vocabulary, _ = MODELS[model]
            if not os.path.isdir(folder):
                raise Skipped(f"{model} is not at hand")
            name = f"mixed_{model}_{dtype}"
            with Cluster(bench, name, file_of("mixed", folder, dtype, mixed_group())) as cluster:
                self.known[model, dtype] = play_both(cluster, vocabulary, "M")["alone"]
        return self.known[model, dtype]


def hidden_bytes(folder):
    return read_json(os.path.join(folder, "config.json"))["hidden_size"] * 4


def company_case(references, model, dtype, ranks):
    def body(bench):
        reference = references.of(bench, model, dtype)
        folder, vocabulary, _ = MODELS[model]
        name = f"mixed{ranks}_{model}_{dtype}"
        with Cluster(bench, name, file_of("mixed", folder, dtype, mixed_group(ranks))) as cluster:
            for how, found in play_both(cluster, vocabulary, "M").items():
                require_same(found, reference, how)
    return f"{model} {dtype}: a colocated group of TP {ranks} answers alike alone and batched", body


def split_case(references, model, dtype, degrees, path, chunk):
    def body(bench):
        reference = references.of(bench, model, dtype)
        folder, vocabulary, _ = MODELS[model]
        groups = split_groups(*degrees, chunk)
        name = f"{model}_{dtype}_tp{degrees[0]}to{degrees[1]}_{path}_chunk{chunk}"
        file = file_of("split", folder, dtype, groups, path=path)
        with Cluster(bench, name, file) as cluster:
            for how, found in play_both(cluster, vocabulary, "D").items():
                require_same(found, reference, how)
            landed = cluster.stats()["bytes_landed_by_node"]
            require_equal(sorted(landed), [f"D.{r}" for r in range(degrees[1])],
                          "nodes where payload landed")
            if path == "in_place":  # nothing but the final hidden states travels
                handed_over = 2 * len(reference) + COMPANY["count"]
                require_equal(set(landed.values()), {hidden_bytes(folder) * handed_over},
                              "bytes landed at each node")
            else:
                require(min(landed.values()) > 0, f"payload landed: {landed}")
    return (f"{model} {dtype}: TP {degrees[0]} to TP {degrees[1]} by {path} in chunks of {chunk}"
            " answers like one group"), body


def possible(row):
    """In place the groups' layouts are equal, so their degrees are."""
    _, degrees, path, _ = row
    return path != "in_place" or degrees[0] == degrees[1]


def covering(*factors):
    """A short list of possible combinations in which every pair of values of two factors occurs:
    always the combination with the most pairs that are still missing."""
    rows = list(filter(possible, itertools.product(*factors)))

    def pairs(row):
        return {((i, row[i]), (j, row[j])) for i, j in itertools.combinations(range(len(row)), 2)}

    missing = set().union(*map(pairs, rows))
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(pairs(row) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return chosen


def all_of(*factors):
    return filter(possible, itertools.product(*factors))


def cases(bench):
    references = References()
    dtyped = [(m, d) for m in MODELS for d in (("bf16", "f32") if bench.full else (MODELS[m][2],))]
    combine = all_of if bench.full else covering
    for model, dtype in dtyped:
        for ranks in (1, 2):
            yield company_case(references, model, dtype, ranks)
    rows = list(combine(dtyped, DEGREES, PATHS, CHUNKS))
    rows += [row for row in ALWAYS if row not in rows]
    for (model, dtype), degrees, path, chunk in rows:
        yield split_case(references, model, dtype, degrees, path, chunk)


if __name__ == "__main__":
    sys.exit(play("agreement", __doc__, cases))
