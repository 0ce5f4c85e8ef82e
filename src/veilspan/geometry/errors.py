"""The error of a manifold that has no implementation of an operation; it names an alternative."""

from __future__ import annotations


class UnavailableOperationError(NotImplementedError):
    """A manifold has no honest implementation of an operation.

    Parameters
    ----------
    manifold : str
        The manifold, as it prints itself.
    operation : str
        The operation that was asked for.
    instead : str
        What to use instead.
    """

    def __init__(self, manifold: str, operation: str, instead: str) -> None:
        self.manifold, self.operation, self.instead = manifold, operation, instead
        super().__init__(f"{manifold} has no '{operation}': {instead}")

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        # Exceptions pickle by their message alone, which does not fit this constructor.
        return type(self), (self.manifold, self.operation, self.instead)
