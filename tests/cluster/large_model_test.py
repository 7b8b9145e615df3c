#!/usr/bin/env python3
"""What agreement_test.py shows of the small models, for a Llama of 213 million random parameters:
tokens and digests of the logits and of the KV cache are those of one colocated group. Not part of
`tests/run`: the model is made here (426 MB, the same bytes each time), and it takes a while.

    large_model_test.py BATON --budget-s 3600
"""
import os
import subprocess
import sys

from agreement_test import (CHUNKS, COMPANY, DEGREES, MODELS, PATHS, PATIENCE, PROMPT_LENGTHS,
                            References, company_case, covering, split_case)
from cases import from_root, play

NAME = "random-213m"


def make_model(folder):
    if not os.path.exists(os.path.join(folder, "config.json")):
        partly = folder + ".partly"
        subprocess.run([sys.executable, from_root("tests", "gpu", "make_random_llama.py"), partly],
                       check=True)
        os.rename(partly, folder)


def cases(bench):
    folder = bench.path(NAME)
    make_model(folder)
    # Eight prompts that share a group in chunks of one token take about as long as the longest
    # lease: the last of them may need a second try.
    PATIENCE.update(run_s=1700, retries=3)
    COMPANY.update(output_tokens=32, together=4)
    PROMPT_LENGTHS[:] = [1, 9, 16, 17, 33, 64, 65, 80]
    MODELS[NAME] = (folder, 32000, "bf16")
    references = References()
    yield company_case(references, NAME, "bf16", 1)
    for _, degrees, path, chunk in covering([NAME], DEGREES, PATHS, CHUNKS):
        yield split_case(references, NAME, "bf16", degrees, path, chunk)


if __name__ == "__main__":
    sys.exit(play("large_model", __doc__, cases))
