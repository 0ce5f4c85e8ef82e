"""The report of ``check_manifold``: one line a property, with its residual and tolerance."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """One property of a manifold.

    Attributes
    ----------
    name : str
        The property.
    residual : float
        What should be 0; NaN when skipped.
    tolerance : float
        The largest residual that passes.
    skipped : str
        Why the property could not be tested; empty when it was.
    error : str
        The exception that the test ended in; empty when there was none.
    """

    name: str
    residual: float
    tolerance: float
    skipped: str = ""
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether the property holds, or was skipped for a stated reason."""
        return bool(self.skipped) or self.residual <= self.tolerance

    def __str__(self) -> str:
        if self.skipped:
            return f"skip  {self.name:<44} {self.skipped}"
        verdict = "ok  " if self.passed else "FAIL"
        if self.error:
            return f"FAIL  {self.name:<44} {self.error}"
        limit = f"(should be 0, at most {self.tolerance:.0e})"
        return f"{verdict}  {self.name:<44} {self.residual:.1e} {limit}"


@dataclass(frozen=True, repr=False)
class ManifoldReport:
    """What `check_manifold` found.

    Attributes
    ----------
    manifold : str
        The manifold, as it prints itself.
    results : tuple of CheckResult
        One entry for every property.
    """

    manifold: str
    results: tuple[CheckResult, ...]

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The properties that do not hold."""
        return tuple(r for r in self.results if not r.passed)

    @property
    def skipped(self) -> tuple[CheckResult, ...]:
        """The properties that could not be tested, each with its reason."""
        return tuple(r for r in self.results if r.skipped)

    def __repr__(self) -> str:
        return "\n".join([f"check_manifold({self.manifold})", *(f"  {r}" for r in self.results)])


class ManifoldCheckError(AssertionError):
    """A manifold breaks its contract; `report` holds every residual."""

    def __init__(self, report: ManifoldReport) -> None:
        self.report = report
        lines = [
            f"{report.manifold} breaks {len(report.failed)} of {len(report.results)} properties"
        ]
        super().__init__("\n".join([*lines, *(f"  {r}" for r in report.failed)]))
