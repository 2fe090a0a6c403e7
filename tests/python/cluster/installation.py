"""Copies of a PostgreSQL installation, found by its pg_config, and what else is installed."""

import os
import pathlib
import re
import shutil
import subprocess


def locations(binaries):
    """Where an installation keeps programs, libraries and shared files."""
    def ask(what):
        return pathlib.Path(subprocess.run([str(pathlib.Path(binaries) / "pg_config"), what], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    return ask("--bindir"), ask("--pkglibdir"), ask("--sharedir")


def stock(binaries, target):
    """Copies an installation to `target`, without the extension; returns the copy's programs.

    PostgreSQL finds its files relative to its programs, as long as the directories keep their places relative to each other.
    """
    directories = locations(binaries)
    common = pathlib.Path(os.path.commonpath(directories))
    for directory in directories:
        shutil.copytree(directory, target / directory.relative_to(common), symlinks=False, dirs_exist_ok=True)
    copied = [target / d.relative_to(common) for d in directories]
    (copied[1] / "amax.so").unlink()
    for file in (copied[2] / "extension").glob("amax*"):
        file.unlink()
    return copied[0]


def major(binaries):
    text = subprocess.run([str(pathlib.Path(binaries) / "pg_config"), "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(r"\d+", text)[0])


def newer_majors(than):
    """(major, programs) of newer PostgreSQL majors than that installation's with the extension in them: installed here, or of AMAX_UPGRADE_TO."""
    places = [*pathlib.Path("/usr/lib/postgresql").glob("*/bin"), *map(pathlib.Path, os.environ.get("AMAX_UPGRADE_TO", "").split())]
    candidates = [b for b in places if all((b / p).exists() for p in ("initdb", "pg_upgrade", "pg_config"))]
    return sorted((major(b), b) for b in candidates if major(b) > major(than) and (locations(b)[1] / "amax.so").exists())


def knows_column_versions(binaries):
    """Whether its pg_dump knows the versions that PostgreSQL 15.20 and its like keep with columns (docs/upgrading.md)."""
    return b"pg_attver" in (pathlib.Path(binaries) / "pg_dump").read_bytes()
