"""Types of command line arguments."""

import argparse


def choices(allowed: list[str]):
    """Some of the names, separated by commas, given back in the order of `allowed`."""
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in allowed]
        if unknown or len(set(chosen)) != len(chosen):
            raise argparse.ArgumentTypeError(f"expected some of {','.join(allowed)}, got {text!r}")
        return [name for name in allowed if name in chosen]

    return parse


def setting(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (equals and name):
        raise argparse.ArgumentTypeError(f"expected name=value, got {text!r}")
    return name, value


def at_least(low: int):
    """An integer not below `low`."""
    def parse(text: str) -> int:
        value = int(text)
        if value < low:
            raise argparse.ArgumentTypeError(f"must be at least {low}")
        return value

    return parse
