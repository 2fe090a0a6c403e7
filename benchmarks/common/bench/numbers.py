"""Means, and numbers as text and JSON."""

import math
import os
import platform
import statistics


def geometric_mean(values: list[float]) -> float:
    """Of positive numbers; NaN if there are none, or any is missing: a mean of other values compares nothing."""
    if not values or any(math.isnan(value) for value in values):
        return math.nan
    return math.exp(statistics.fmean(map(math.log, values)))


def shown(value: float, digits: int = 1) -> str:
    """A number, or a dash if it is missing."""
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"


def plain(value):
    """The same with None for NaN, which JSON does not have."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def machine() -> dict:
    """Enough about this machine to judge times."""
    return {"cpus": os.cpu_count(), "architecture": platform.machine(), "kernel": platform.release()}
