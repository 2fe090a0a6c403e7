"""What a system under test can do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from bench.queries import read

from ..config import HERE, Options
from ..data import DataSet


@dataclass
class Load:
    """How a load went: the copy, and what follows until the table is as a user would leave it."""

    copy_seconds: float
    settle_seconds: float
    rows: int


class System(ABC):
    """One system holding the documents in a table `documents` with a column `doc`. Times are in seconds, sizes in bytes."""

    dialect: str

    def __init__(self, name: str, options: Options):
        self.name, self.options = name, options

    @property
    def threads(self) -> int:
        return self.options.workers + 1

    def queries(self, data: DataSet) -> dict[str, str]:
        """Queries by title, in this system's dialect, of those asked for."""
        found = read(HERE / "queries" / self.options.data / f"{self.dialect}.sql")
        for name, value in data.parameters.items():
            found = {title: text.replace(f"{{{name}}}", value) for title, text in found.items()}
        chosen = self.options.queries
        return {title: text for number, (title, text) in enumerate(found.items(), 1) if chosen is None or number in chosen}

    @abstractmethod
    def load(self, data: DataSet) -> Load:
        """Creates and fills the table."""

    @abstractmethod
    def count(self) -> int:
        """Rows in the table."""

    @abstractmethod
    def size(self) -> int:
        """Bytes on disk."""

    @abstractmethod
    def connect(self):
        """A new session, a context manager."""

    @abstractmethod
    def query(self, session, text: str) -> tuple[float, object]:
        """Seconds from sending a query to holding its answer, and the answer, for `answer`."""

    @abstractmethod
    def answer(self, text: str, held) -> list[tuple]:
        """A held answer in the form in which answers are compared. Takes its time."""

    @abstractmethod
    def drop(self) -> None:
        """Removes everything load created."""

    @abstractmethod
    def describe(self) -> dict:
        """Version and settings, for the results file."""


def of_documents(text: str) -> bool:
    """Whether a query returns documents; they are taken as text, unparsed."""
    return text.startswith("SELECT doc FROM")
