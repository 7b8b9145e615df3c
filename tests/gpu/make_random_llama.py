#!/usr/bin/env python3
"""Writes a Hugging Face folder of a Llama with random bf16 weights, for measurements.

    make_random_llama.py FOLDER [--seed 1] [--hidden 1024] [--layers 16] ...

The defaults give about 210 million parameters. The same arguments give the same bytes. Weights lie
in +-[2^-7, 2^-5), which keeps activations of an untrained model finite; norms are 1.
"""
import argparse
import json
import os
import random
import struct

SIGNS = bytes(0x3C if b < 128 else 0xBC for b in range(256))
PIECE = 1 << 22


def tensors(a):
    head_dim = a.hidden // a.heads
    yield "model.embed_tokens.weight", [a.vocab, a.hidden]
    for layer in range(a.layers):
        at = f"model.layers.{layer}."
        yield at + "input_layernorm.weight", [a.hidden]
        yield at + "self_attn.q_proj.weight", [a.heads * head_dim, a.hidden]
        yield at + "self_attn.k_proj.weight", [a.kv_heads * head_dim, a.hidden]
        yield at + "self_attn.v_proj.weight", [a.kv_heads * head_dim, a.hidden]
        yield at + "self_attn.o_proj.weight", [a.hidden, a.heads * head_dim]
        yield at + "post_attention_layernorm.weight", [a.hidden]
        yield at + "mlp.gate_proj.weight", [a.intermediate, a.hidden]
        yield at + "mlp.up_proj.weight", [a.intermediate, a.hidden]
        yield at + "mlp.down_proj.weight", [a.hidden, a.intermediate]
    yield "model.norm.weight", [a.hidden]


def elements(shape):
    count = 1
    for n in shape:
        count *= n
    return count


def write_values(file, shape, source):
    count = elements(shape)
    if len(shape) == 1:
        file.write(struct.pack("<H", 0x3F80) * count)
        return
    while count > 0:
        n = min(count, PIECE)
        values = bytearray(2 * n)
        values[0::2] = source.randbytes(n)
        values[1::2] = source.randbytes(n).translate(SIGNS)
        file.write(values)
        count -= n


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--intermediate", type=int, default=2816)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--kv-heads", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=32000)
    parser.add_argument("--positions", type=int, default=4096)
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": a.hidden, "intermediate_size": a.intermediate,
        "num_hidden_layers": a.layers, "num_attention_heads": a.heads,
        "num_key_value_heads": a.kv_heads, "vocab_size": a.vocab,
        "max_position_embeddings": a.positions, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2,
        "torch_dtype": "bfloat16",
    }
    with open(os.path.join(a.folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
    header, offset = {}, 0
    for name, shape in tensors(a):
        size = 2 * elements(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    source = random.Random(a.seed)
    with open(os.path.join(a.folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors(a):
            write_values(file, shape, source)
    print(f"{offset // 2 / 1e6:.1f} million parameters, {offset / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
