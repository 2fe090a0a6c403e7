"""Counting named checks, each of which may fail without ending the others."""

import contextlib
import time
import traceback

from twins import Mismatch


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    @contextlib.contextmanager
    def check(self, name):
        """One test. What it wants to say of itself it appends to the list it is given."""
        said = []
        started = time.monotonic()
        try:
            yield said
        except Exception as error:  # pylint: disable=broad-except
            self.failed += 1
            text = str(error) if isinstance(error, Mismatch) else traceback.format_exc()
            print(f"FAILED  {name}\n    " + text[:4000].replace("\n", "\n    "), flush=True)
        else:
            self.passed += 1
            print(f"ok      {name}{': ' if said else ''}{', '.join(map(str, said))} ({time.monotonic() - started:.1f} s)", flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def equal(what, got, wanted):
    if got != wanted:
        raise Mismatch(f"{what}: {str(got)[:1500]} instead of {str(wanted)[:1500]}")
