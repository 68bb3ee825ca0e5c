#!/usr/bin/env python3
"""Writes blocks.json: random blocks of every number format with the values that llama.cpp's Python package reads from them.

Needs `pip install gguf==0.19.0 numpy`. Run as: make_blocks.py > blocks.json
"""
import json

import gguf
import numpy as np

rng = np.random.default_rng(135)
N_BLOCKS = 2
# Byte positions of f16 fields in a block, kept finite so that every value can stand in JSON.
F16_FIELDS = {
    "F32": [], "F16": [0], "BF16": [], "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
}

formats = {}
for name, fields in F16_FIELDS.items():
    dtype = getattr(gguf.GGMLQuantizationType, name)
    block_size, block_bytes = gguf.GGML_QUANT_SIZES[dtype]
    n_blocks = N_BLOCKS if block_size > 1 else 32
    raw = rng.integers(0, 256, (n_blocks, block_bytes), dtype=np.uint8)
    for at in fields:
        raw[:, at : at + 2] = rng.standard_normal((n_blocks, 1)).astype(np.float16).view(np.uint8)
    if name == "F32":
        raw = rng.standard_normal((n_blocks, 1)).astype(np.float32).view(np.uint8)
        values = raw.view(np.float32)
    elif name == "F16":
        values = raw.view(np.float16).astype(np.float32)
    else:
        if name == "BF16":
            raw = np.ascontiguousarray(rng.standard_normal((n_blocks, 1)).astype(np.float32).view(np.uint8)[:, 2:])
        values = gguf.quants.dequantize(raw.reshape(-1), dtype)
    formats[name] = {
        "block_size": int(block_size),
        "block_bytes": int(block_bytes),
        "bytes": raw.tobytes().hex(),
        "f32_bits": np.ascontiguousarray(values, dtype=np.float32).reshape(-1).view(np.uint32).tolist(),
    }
print(json.dumps({"maker": "tests/data/quant/make_blocks.py, gguf " + "0.19.0", "formats": formats}, indent=0))
