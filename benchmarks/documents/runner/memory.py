"""Memory of a server process, from /proc: Linux only, and only of a server on this machine."""

import threading
from pathlib import Path


def status(pid: int, field: str) -> int | None:
    """A field of /proc/PID/status in bytes; None where it cannot be read."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


class Peak:
    """Peak memory of a process while the block runs, in bytes.

    high_water is the rise of VmHWM, which the kernel keeps; it counts the shared buffers the process has touched.
    private is the rise of RssAnon, the process's own memory, sampled every 2 ms: short peaks may be missed.
    """

    high_water: int | None = None
    private: int | None = None

    def __init__(self, pid: int):
        self.pid = pid

    def __enter__(self):
        self._before = status(self.pid, "VmHWM"), status(self.pid, "RssAnon")
        self._peak = self._before[1] or 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def _sample(self):
        while not self._stop.wait(0.002):
            self._peak = max(self._peak, status(self.pid, "RssAnon") or 0)

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        after = status(self.pid, "VmHWM")
        if None not in (after, *self._before):
            self.high_water = after - self._before[0]
            self.private = self._peak - self._before[1]
