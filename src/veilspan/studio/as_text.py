"""Every page as a command and as Python, which do the same to the letter."""

from __future__ import annotations

import shlex

from veilspan.studio.settings import Settings


def join_words(*words: object) -> str:
    """A command for a shell: words with spaces and signs are quoted."""
    return " ".join(shlex.quote(str(word)) for word in words)


def account_as_text(settings: Settings) -> tuple[str, str]:
    """Show the budgets of all datasets."""
    command = join_words("veilspan", "ledger", "show", settings.ledger, "--key", settings.key)
    python = (
        "from veilspan import Ledger\n\n"
        f"ledger = Ledger({settings.ledger!r}, key={str(settings.key)!r})\n"
        "for state in ledger.spent().values():\n"
        "    print(state)\n"
    )
    return command, python
