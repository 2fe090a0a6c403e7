"""Documents in the form of the paper's datasets (§6.1, Table 1). A document is a function of the seed and its number."""

from dataclasses import dataclass
from random import Random
from typing import Callable

from . import cell, sensors, tweets, wos


@dataclass(frozen=True)
class Dataset:
    """How a document is made of a generator of random numbers and its own number, and how many there are at scale 1."""

    document: Callable[[Random, int], dict]
    documents: int


DATASETS = {
    "cell": Dataset(cell.document, 500_000),
    "sensors": Dataset(sensors.document, 12_000),
    "tweet_1": Dataset(tweets.of_2020, 12_000),
    "wos": Dataset(wos.document, 10_000),
    "tweet_2": Dataset(tweets.of_2016, 80_000),
}


def document(seed: int, name: str, number: int) -> dict:
    return DATASETS[name].document(Random(f"{seed} {name} {number}"), number)
