"""What an attack reports: how often it was tried, how often the library held, and what gave way."""

from dataclasses import dataclass, field

MOST_EXAMPLES = 5  # of what gave way, in a record


@dataclass
class Outcome:
    """Counts of one attack.

    Attributes
    ----------
    tried, held : int
        How often it was run, and how often nothing gave way.
    broken : list of str
        Examples of what did.
    note : str
        What was counted, in a few words with figures.
    """

    tried: int = 0
    held: int = 0
    broken: list = field(default_factory=list)
    note: str = ""

    def count(self, problem=""):
        """One trial: it held if there is no problem."""
        self.tried += 1
        if not problem:
            self.held += 1
        elif len(self.broken) < MOST_EXAMPLES:
            self.broken.append(problem)
        return self
