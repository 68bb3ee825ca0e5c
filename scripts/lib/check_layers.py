"""check_layers.py: fails when an #include or import points up or sideways (the rule of src/README.md, "dependency rule")."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# folder of src → folders it may include, itself and include/lookback understood.
CXX = {
    "base": [],
    "quant": ["base"],
    "formats": ["base", "quant"],
    "kernels": ["base", "quant"],
    "model": ["base", "quant", "formats", "kernels"],
    "runtime": ["base", "quant", "formats", "kernels", "model"],
    "bindings": [],
}
# folder of web → folders it may import from. Panels (view) read state and call actions (app); state never knows a panel.
WEB = {
    "engine": [],
    "view": ["app"],
    "app": [],
    "byhand": [],
}
# Functions without state or page, for everybody.
PURE = {f"view/{name}.js" for name in ("color_scale", "format", "layout", "ranking", "visible_text", "word_groups")}
# The composition: alone knows the engine and every panel, and nobody imports it.
COMPOSITION = {"app/main.js", "app/views.js"}
# What the by-hand page draws with.
SHARED_VIEW = PURE | {"view/dom.js", "view/theme.js"}
SPECIAL_HEADERS = {
    "emscripten/": "src/bindings/embind.cc",
    "wasm_simd128.h": "src/kernels/simd.h",
}


def cxx_faults():
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        relative = path.relative_to(ROOT).as_posix()
        folder = path.relative_to(ROOT / "src").parts[0]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := re.match(r'\s*#include\s+"([^"/]+)/', line):
                target = match[1]
                if target not in (folder, "lookback", *CXX[folder]):
                    yield f"{relative}:{number}: {folder} may not include {target}"
            if match := re.match(r"\s*#include\s+<([^>]+)>", line):
                for prefix, owner in SPECIAL_HEADERS.items():
                    # Threads wait and clocks tick through Emscripten's own headers in one place of base.
                    if match[1].startswith(prefix) and relative not in (owner, "src/base/parallel.cc"):
                        yield f"{relative}:{number}: only {owner} includes <{match[1]}>"
    for path in sorted((ROOT / "include").rglob("*.h")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#include\s+"([^"]+)"', line)
            if match and not match[1].startswith("lookback/"):
                yield f"{path.relative_to(ROOT)}:{number}: include/ uses the standard library and itself only"


def web_faults():
    web = ROOT / "web"
    for path in sorted(web.rglob("*.js")):
        relative = path.relative_to(web)
        folder = relative.parts[0]
        if folder not in WEB or "wasm" in relative.parts:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for specifier in re.findall(r"(?:from|import)\s*\(?\s*'(\.[^']*)'", line):
                target = (path.parent / specifier).resolve()
                if not target.is_relative_to(web):
                    yield f"web/{relative}:{number}: imports {specifier} from outside web/"
                    continue
                name = target.relative_to(web).as_posix()
                allowed = any(name.startswith(rule + "/") for rule in (folder, *WEB[folder])) or name in PURE
                if folder == "byhand":
                    allowed = allowed or name in SHARED_VIEW
                if relative.as_posix() in COMPOSITION:
                    allowed = True
                elif name in COMPOSITION:
                    allowed = False
                if not allowed:
                    yield f"web/{relative}:{number}: {folder} may not import {name}"
            # Types may be named across folders (they are erased); the DOM may not be touched by the engine.
            if folder == "engine" and re.search(r"\bdocument\.", line):
                yield f"web/{relative}:{number}: the engine touches no DOM"


faults = [*cxx_faults(), *web_faults()]
print("\n".join(faults))
sys.exit(1 if faults else 0)
