"""native_llama.py MODEL THREADS: one round of native llama.cpp. Reads {prompts, plan} as JSON on standard input, prints one JSON object.

Token ids go in, greedy tokens come out, through the C functions; no sampler, no tokenizer.
"""

import ctypes
import json
import sys
import time

import llama_cpp
import numpy as np

N_CTX = 2048


class Runtime:
    def __init__(self, path, threads):
        llama_cpp.llama_backend_init()
        # Its log would mix with the answer.
        self.log = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.log, ctypes.c_void_p(0))
        params = llama_cpp.llama_model_default_params()
        params.use_extra_bufts = not claims_amx()
        self.model = llama_cpp.llama_load_model_from_file(path.encode(), params)
        if not self.model:
            sys.exit(f"llama.cpp does not load {path}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = N_CTX
        params.n_threads = params.n_threads_batch = threads
        self.context = llama_cpp.llama_new_context_with_model(self.model, params)
        self.n_vocab = llama_cpp.llama_n_vocab(llama_cpp.llama_model_get_vocab(self.model))

    def step(self, ids):
        tokens = (llama_cpp.llama_token * len(ids))(*ids)
        if llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(tokens, len(ids))) != 0:
            sys.exit("llama_decode failed")
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.context, -1), (self.n_vocab,))

    def run(self, ids, n):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        started = time.perf_counter()
        best = int(self.step(ids).argmax())
        prefilled = time.perf_counter()
        for _ in range(n):
            best = int(self.step([best]).argmax())
        return (prefilled - started) * 1e3, (time.perf_counter() - prefilled) * 1e3


def claims_amx():
    """Tile registers need leave that not every virtual machine gives though its processor has them, and llama.cpp then crashes; it is kept from them."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return " amx_int8" in info.read()


def peak_bytes():
    for line in open("/proc/self/status", encoding="utf-8"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return None


def main():
    asked = json.load(sys.stdin)
    prompts, plan = asked["prompts"], asked["plan"]
    ids = lambda name: prompts[str(name)]["ids"]
    started = time.perf_counter()
    runtime = Runtime(sys.argv[1], int(sys.argv[2]))
    load_ms = (time.perf_counter() - started) * 1e3
    runtime.run(ids(128), 4)
    prefill = [{"tokens": n, "ms": runtime.run(ids(n), 0)[0]} for n in plan["prefill"]]
    decode = {**plan["decode"], "ms": runtime.run(ids(plan["decode"]["after"]), plan["decode"]["tokens"])[1]}
    llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(runtime.context), True)
    logits = [float(x) for x in runtime.step(ids("words"))]
    print(
        json.dumps(
            {
                "loadMs": load_ms,
                "prefill": prefill,
                "decode": decode,
                "logits": {"logits": logits},
                "memoryBytes": peak_bytes(),
                "variant": "native",
                "threads": int(sys.argv[2]),
                "version": llama_cpp.__version__,
            }
        )
    )


main()
