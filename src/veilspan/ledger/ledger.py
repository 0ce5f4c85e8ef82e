"""``Ledger``: opens the accounts of datasets in one file or database, and checks its record."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any

from veilspan._html import tag
from veilspan.ledger.dataset import Dataset
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.filters import rules_for, rules_to_list
from veilspan.ledger.names import check_name, check_unit
from veilspan.ledger.records import DATASET, ROW, Entry, Terms
from veilspan.ledger.seal.chain import Head
from veilspan.ledger.seal.journal import Journal, Page, hide_password, resolve_location
from veilspan.ledger.seal.keys import key_path
from veilspan.ledger.seal.verification import LedgerReport, verify_ledger
from veilspan.ledger.session import session
from veilspan.ledger.spending import Spending, describe_accounts
from veilspan.ledger.terms import (
    dataset_entries,
    find_dataset,
    read_dataset,
    refuse_second_account,
    spending_on,
    takes_unit,
    terms_and_rules,
)
from veilspan.privacy.schema_record import SchemaRecord


class Ledger:
    """A persistent record of privacy budgets: what was spent stays spent.

    Parameters
    ----------
    location : str or path
        A SQLite file, made when the first dataset is, or ``postgresql://...`` (needs the extra
        ``[postgres]``).
    key : str or path, optional
        File with the key that seals entries; keep it apart from the ledger. By default that of
        ``VEILSPAN_LEDGER_KEY_FILE``, else ``veilspan/ledger.key`` in the user's configuration,
        made on first use.

    Examples
    --------
    >>> import tempfile
    >>> from veilspan import PCA
    >>> from veilspan.datasets import make_haystack
    >>> from veilspan.ledger import Ledger
    >>> folder = tempfile.mkdtemp()
    >>> ledger = Ledger(f"{folder}/budget.db", key=f"{folder}/ledger.key")
    >>> trial = ledger.dataset("trial-42", epsilon=3, delta=1e-6)
    >>> rows = make_haystack(2000, 6, 2).rows
    >>> pca = PCA(2, epsilon=1.0, ledger=trial).fit(rows)
    >>> pca.privacy_.ledger["dataset"], trial.spent().charges
    ('trial-42', 1)
    """

    def __init__(
        self, location: str | os.PathLike[str], key: str | os.PathLike[str] | None = None
    ) -> None:
        self.url = resolve_location(location)
        self.key_file = str(key_path(key))

    @property
    def journal(self) -> Journal:
        """The ledger's journal: its entries, each sealed, behind its key."""
        from pathlib import Path

        return Journal(self.url, Path(self.key_file))

    def dataset(
        self,
        name: str,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        neighbors: str = "replace-one",
        accounting: str = "auto",
        test: bool = False,
        unit: str | None = None,
        data: str | None = None,
        schema: Any = None,
        approval: bool = False,
    ) -> Dataset:
        """Open a dataset's account, or return the one that is there.

        Parameters
        ----------
        name : str
            Of the data, not of a file: all copies of a table share one budget.
        epsilon, delta : float, optional
            What all releases together may spend. Leave both out to open an account that exists.
        neighbors : {"replace-one", "add-remove"}
            The relation that every fit must promise.
        accounting : {"auto", "gdp", "rdp"}
            How fits are added up (:mod:`veilspan.ledger.filters`). ``"gdp"`` is exact and takes
            full-batch Gaussian releases only. ``"rdp"`` takes all. ``"auto"`` takes all and keeps
            both counts, with half of delta each: a little less than the better of the two.
        test : bool
            For rehearsals: fits that are not private (a seed, no noise) are recorded, at no cost.
        unit : str, optional
            Whom every fit must protect: ``"row"`` by default, ``"user"`` for
            :class:`~veilspan.MatrixCompletion`, else what schemas say (``"patient"``). Case does
            not count.
        data : str, optional
            Name of the dataset that schemas must be of; by default the account's.
        schema : Schema, optional
            In place of ``unit`` and ``data``: takes both from a schema of the dataset.
        approval : bool
            Whether every charge needs a request that an officer approved.
        """
        unit, data = _unit_and_data(unit, data, schema)
        if epsilon is None and delta is None:
            with self.journal.reading() as page:
                found = read_dataset(page, check_name(name, "the name of a dataset"))
            _check_unit_and_data(terms_and_rules(found)[0], unit, data)
            return self._handle(found)
        if epsilon is None or delta is None:
            raise LedgerError(
                "a dataset's budget is both epsilon and delta: give both, or neither to open one "
                "that exists."
            )
        name = check_name(name, "the name of a dataset")
        wanted = Terms(
            name,
            float(epsilon),
            float(delta),
            neighbors,  # type: ignore[arg-type]
            accounting,
            test,
            ROW if unit is None else unit,
            data,
            approval,
        )
        rules = rules_for(wanted.epsilon, wanted.delta, accounting)
        allowed = [rule.allowance(wanted.epsilon) for rule in rules]
        opened = self._find(wanted) if self.journal.exists() else None
        if opened is None:
            with self.journal.writing() as page:
                opened = _find_with_terms(page, wanted)
                if opened is None:
                    refuse_second_account(page, wanted)
                    content = {"terms": asdict(wanted), "rules": rules_to_list(rules)}
                    opened = page.append(DATASET, name, {**content, "allowed": allowed})
                    page.book.open_account(name, allowed)
        return self._handle(opened)

    def _find(self, wanted: Terms) -> Entry | None:
        with self.journal.reading() as page:
            return _find_with_terms(page, wanted)

    def _handle(self, opened: Entry) -> Dataset:
        return Dataset(self.url, opened.dataset, self.key_file)

    def upgrade(self) -> None:
        """Bring the tables of an older ledger to the format of this version.

        Whoever writes to a ledger does so by itself. On PostgreSQL only the owner of the tables
        may: if those who fit are other users, the owner calls this once. Earlier versions of
        veilspan refuse the ledger from then on.
        """
        if not self.journal.exists():
            raise LedgerError(
                f"there is no ledger at {hide_password(self.url)}: it is made with its first "
                "dataset."
            )
        with self.journal.writing():
            pass  # the store migrates before it hands out a page

    def session(self, dataset: str | Dataset) -> AbstractContextManager[Dataset]:
        """Charge every fit inside a ``with`` block to a dataset that exists.

        A fit that names another dataset by its own ``ledger`` is charged there.
        """
        handle = dataset if isinstance(dataset, Dataset) else self.dataset(dataset)
        return session(handle)

    def datasets(self) -> list[str]:
        """Names of all datasets in the ledger, sorted, as they are spelled there."""
        with self.journal.reading() as page:
            return [entry.dataset for entry in dataset_entries(page)]

    def spent(self) -> dict[str, Spending]:
        """What was spent on each dataset, and what is left, by its name."""
        with self.journal.reading() as page:
            return {entry.dataset: spending_on(page, entry) for entry in dataset_entries(page)}

    def history(
        self, dataset: str | None = None, *, limit: int | None = None, before: int | None = None
    ) -> list[Entry]:
        """All entries, or those of a dataset, in order, or a page of them.

        The seal of each is checked (:meth:`veilspan.ledger.dataset.Dataset.history`).
        """
        if dataset is not None:
            return self.dataset(dataset).history(limit=limit, before=before)
        with self.journal.reading() as page:
            return page.entries(None, (None,), limit=limit, before=before)

    def head(self) -> Head:
        """Number of entries and the digest of the last: note it elsewhere to see truncation."""
        with self.journal.reading() as page:
            return page.head

    def verify(self, head: Head | str | None = None) -> LedgerReport:
        """Check every entry, every sum, and that nothing was cut off: linear in the record.

        Parameters
        ----------
        head : Head or str, optional
            A head noted earlier, for example one printed in a release. The last one seen from here
            is compared in any case.

        Returns
        -------
        LedgerReport
            True in a boolean context if nothing was found.
        """
        given = Head.parse(head) if isinstance(head, str) else head
        return verify_ledger(self.journal, given)

    def __repr__(self) -> str:
        return f"Ledger({hide_password(self.url)!r})"

    def _repr_html_(self) -> str:
        """All accounts as they stand, or, where they cannot be read, the handle as text."""
        try:
            states = self.spent()
        except (LedgerError, OSError):
            return str(tag("code", repr(self)))
        return describe_accounts(repr(self), states.values())


def _unit_and_data(
    unit: str | None, data: str | None, schema: Any
) -> tuple[str | None, str | None]:
    """What the caller says about them, in their one spelling; what is not said stays None."""
    unit = None if unit is None else check_unit(unit)
    data = None if data is None else check_name(data, "the name of the data")
    if schema is None:
        return unit, data
    its_name = check_name(SchemaRecord.of(schema).name, "the name of a schema")
    said = check_unit(schema.protects), its_name
    for word, given, its in (("unit", unit, said[0]), ("data", data, said[1])):
        if given not in (None, its):
            raise ValueError(
                f"{word}={given!r} is not what the schema says ({its!r}): leave one of them out."
            )
    return said


def _check_unit_and_data(recorded: Terms, unit: str | None, data: str | None) -> None:
    """Refuse an account that exists if it is not of what the caller asks for."""
    if unit is not None and not takes_unit(recorded, unit, with_schema=False):
        raise LedgerError(
            f"the account {recorded.name!r} protects one {recorded.unit or ROW}, not one {unit}: "
            f"open another account for this unit, by its epsilon, delta and unit={unit!r}."
        )
    if data is not None and recorded.data not in (None, data):
        raise LedgerError(
            f"the account {recorded.name!r} is that of the dataset {recorded.data!r}, not of "
            f"{data!r}: open the account of {data!r}."
        )


def _find_with_terms(page: Page, wanted: Terms) -> Entry | None:
    """The entry of the dataset, if it is there with these terms; other terms are refused."""
    found = find_dataset(page.book, wanted.name)
    if found is None:
        return None
    recorded, _ = terms_and_rules(page.genuine(found))
    same = replace(recorded, name=wanted.name)
    if recorded.unit is None and takes_unit(recorded, wanted.unit or ROW, with_schema=False):
        # Opened before units were recorded: a script that says them now means the same account.
        same = replace(same, unit=wanted.unit, data=wanted.data)
    if same != wanted:
        raise LedgerError(
            f"the dataset {wanted.name!r} is recorded with {recorded.describe()}; its terms do not "
            f"change. Asked for: {wanted.describe()}."
        )
    return found
