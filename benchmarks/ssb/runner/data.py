"""The generated files: built once per scale factor, seed and generator."""

import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .config import BUILD, Options

# What the generator is asked for, and how its files end.
FORMATS = {"relational": "csv", "documents": "jsonl", "text_keys": "text-keys"}
EXTENSIONS = {"relational": "csv", "documents": "jsonl", "text_keys": "csv"}


@dataclass(frozen=True)
class DataSet:
    """One form's files and what the generator says is in them."""

    directory: Path
    extension: str
    manifest: dict

    def path(self, table: str) -> Path:
        return self.directory / f"{table}.{self.extension}"

    def rows(self, table: str) -> int:
        return self.manifest["tables"][table]["rows"]


def generate(options: Options, generator: Path, form: str) -> DataSet:
    """Returns the form's files, generating them unless they are complete.

    The directory's name holds the generator's digest: a changed generator
    never meets the files of an older one, which are removed.
    """
    extension, wanted = EXTENSIONS[form], FORMATS[form]
    digest = hashlib.sha256(generator.read_bytes()).hexdigest()[:12]
    base = BUILD / "ssb" / "data"
    directory = base / f"sf{options.sf:g}-seed{options.seed}-{digest}-{wanted}"
    manifest = directory / "manifest.json"
    if not manifest.exists():
        partial = base / f"{directory.name}.{os.getpid()}"
        subprocess.run(
            [generator, "all", "--sf", repr(options.sf), "--seed", str(options.seed), "--format", wanted,
             "--out", partial],
            check=True, stderr=subprocess.DEVNULL)
        for old in base.glob(f"sf{options.sf:g}-seed{options.seed}-*-{wanted}"):
            shutil.rmtree(old)
        partial.rename(directory)
    return DataSet(directory, extension, json.loads(manifest.read_text()))
