"""Building generators of this workspace."""

import json
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]


def build(package: str) -> Path:
    """Builds a package in release mode and returns its binary's path."""
    command = ["cargo", "build", "--release", "--ignore-rust-version", "--package", package,
               "--message-format", "json-render-diagnostics"]
    output = subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = (json.loads(line) for line in output.splitlines())
    executables = [m["executable"] for m in messages if m.get("executable")]
    return Path(executables[-1])
