"""Running pgbench."""

import os
import re
import subprocess

from .config import HERE, LOADS, Options
from .tables import TEMPLATES, schema


def run(options: Options, system: str, load: str, clients: int, seconds: int) -> dict:
    """Transactions per second (connecting aside) and mean latency in milliseconds. Raises RuntimeError if it fails."""
    command = [options.pgbench, "--no-vacuum", "--client", str(clients), "--jobs", str(clients), "--time", str(seconds),
               "--protocol", "prepared", "--define", f"rows={options.rows}", "--define", f"templates={TEMPLATES}"]
    for script, weight in LOADS[load].scripts.items():
        command += ["--file", f"{HERE / 'scripts' / script}.sql@{weight}"]
    settings = {"search_path": schema(system)} | options.settings
    environment = os.environ | {"PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in settings.items())}
    done = subprocess.run([*command, options.dsn], capture_output=True, text=True, env=environment)
    tps = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    latency = re.search(r"^latency average = ([\d.]+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not tps:
        raise RuntimeError(f"pgbench: {done.stderr.strip() or done.stdout.strip()}")
    return {"tps": float(tps[1]), "latency_ms": float(latency[1])}
