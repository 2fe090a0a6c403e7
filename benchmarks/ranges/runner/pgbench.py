"""Running pgbench, and reading its log of transactions."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from . import scripts
from .config import Options
from .tables import schema


@dataclass(frozen=True)
class Load:
    """Clients, and the scripts that they run, by their weights; so many transactions a second of all clients, or as many as they can."""

    starts: str
    weights: dict[str, int]
    clients: int
    rate: int | None = None


@dataclass(frozen=True)
class Found:
    """What a load did after the warm-up: milliseconds of the transactions by script, and seconds from its end to that of the last; and all updates, those of the warm-up as well."""

    milliseconds: dict[str, list[float]]
    seconds: float
    updates: int


def run(options: Options, system: str, loads: list[Load]) -> list[Found]:
    """Runs loads beside each other. Raises RuntimeError if one fails."""
    with TemporaryDirectory() as directory:
        running = [_start(options, system, load, Path(directory) / str(number)) for number, load in enumerate(loads)]
        for process in running:
            _, errors = process.communicate()
            if process.returncode != 0:
                raise RuntimeError(f"pgbench: {errors.strip()}")
        return [_read(options, load, Path(directory) / str(number)) for number, load in enumerate(loads)]


def _start(options: Options, system: str, load: Load, directory: Path) -> subprocess.Popen:
    directory.mkdir()
    command = [options.pgbench, "--no-vacuum", "--client", str(load.clients), "--jobs", str(min(load.clients, os.cpu_count() or 1)),
               "--time", str(options.warm_up + options.seconds), "--protocol", options.protocol, "--log", "--log-prefix", directory / "log", *scripts.defines(options)]
    if load.rate:
        command += ["--rate", str(load.rate)]
    for name, weight in load.weights.items():
        (directory / name).write_text(scripts.text(options, load.starts, name))
        command += ["--file", f"{directory / name}@{weight}"]
    settings = {"search_path": schema(system)} | options.settings
    environment = os.environ | {"PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in settings.items())}
    return subprocess.Popen([*command, options.dsn], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def _read(options: Options, load: Load, directory: Path) -> Found:
    """Each line: client, its how manieth, microseconds, script, when it ended (seconds, microseconds). With a rate the microseconds are from when it should have begun: who has to wait for
    the one before waits longer."""
    names = list(load.weights)
    done = []
    for file in directory.glob("log.*"):
        for line in file.read_text().splitlines():
            _, _, took, script, seconds, microseconds = line.split()[:6]
            if not took.isdigit():
                raise RuntimeError(f"pgbench: a transaction failed: {line}")
            done.append((int(seconds) + int(microseconds) / 1e6, int(took) / 1000, names[int(script)]))
    if not done:
        raise RuntimeError("pgbench: no transaction has ended")
    begin = min(end - took / 1000 for end, took, _ in done) + options.warm_up
    counted = [(took, name) for end, took, name in done if end >= begin]
    milliseconds = {name: sorted(took for took, of in counted if of == name) for name in names}
    return Found(milliseconds, max(end for end, _, _ in done) - begin, sum(name == "update" for _, _, name in done))
