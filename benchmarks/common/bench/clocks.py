"""What to measure times with: the clock, or the time that a process has had a processor, for machines with something beside it."""

import time
from pathlib import Path


def clock(session, of_processor):
    """Gives milliseconds when called. Of the processor it is the session's own process, on this machine, without its workers."""
    if not of_processor:
        return lambda: time.perf_counter_ns() / 1e6
    file = Path(f"/proc/{session.info.backend_pid}/schedstat")
    return lambda: int(file.read_text(encoding="ascii").split()[0]) / 1e6
