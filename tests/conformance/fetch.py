"""Brings the MCP conformance suite and reference servers here: `python tests/conformance/fetch.py DIRECTORY`.

They are npm packages. package-lock.json names every package with its digest, as requirements/*.txt do for Python; what
comes with another digest is refused. npm is asked only where its registry is (NPM_CONFIG_REGISTRY says it, too), and
Node.js comes with Playwright. After a change of package.json write the lock anew: `npm install --package-lock-only`.
"""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial as partial_of
from pathlib import Path, PurePosixPath

LOCK = Path(__file__).with_name("package-lock.json")
SECONDS = 60


def main(directory: Path) -> None:
    """Fills the directory with node_modules/, whole or not at all."""
    packages = {place: entry for place, entry in json.loads(LOCK.read_bytes())["packages"].items() if place}
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    fetch = partial_of(_tarball, registry())
    with ThreadPoolExecutor(8) as pool:
        # Outer packages first: those nested in them go into folders that theirs would otherwise replace.
        for place, content in zip(packages, pool.map(fetch, packages, packages.values()), strict=True):
            _unpack(content, partial / place)
    shutil.rmtree(directory, ignore_errors=True)
    partial.rename(directory)


def registry() -> str:
    """Where packages are fetched from."""
    named = os.environ.get("NPM_CONFIG_REGISTRY")
    if not named:
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit("Install npm, or set NPM_CONFIG_REGISTRY to the address of its registry or of a mirror.")
        named = subprocess.run([npm, "config", "get", "registry"], check=True, capture_output=True, text=True).stdout
    return named.strip().rstrip("/")


def _tarball(registry: str, place: str, entry: dict[str, str]) -> bytes:
    name = place.rpartition("node_modules/")[2]
    address = f"{registry}/{name}/-/{name.rpartition('/')[2]}-{entry['version']}.tgz"
    with urllib.request.urlopen(address, timeout=SECONDS) as response:
        content: bytes = response.read()
    algorithm, _, expected = entry["integrity"].partition("-")
    found = base64.b64encode(hashlib.new(algorithm, content).digest()).decode()
    if found != expected:
        raise SystemExit(f"{address} is not what package-lock.json expects: {algorithm}-{found}")
    return content


def _unpack(content: bytes, target: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for member in archive.getmembers():
            # The first folder is "package" for most and something else for some.
            member.name = str(PurePosixPath(*PurePosixPath(member.name).parts[1:]))
            if member.isfile():
                archive.extract(member, target, filter="data")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
