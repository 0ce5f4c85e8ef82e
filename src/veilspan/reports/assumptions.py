"""What a promise rests on, in plain words to initial; the wording for engineers behind a fold.

The statement's own texts are for those who can check them. Whoever signs a release answers for
what nobody can see in it, so each text has a sentence here that a colleague would say aloud; one
that has none yet is shown as it stands.
"""

from __future__ import annotations

from typing import NamedTuple

from veilspan.estimators import base
from veilspan.estimators.completion import matrix_completion
from veilspan.estimators.linear import base as linear
from veilspan.estimators.linear import classifier, regression
from veilspan.estimators.manifold.frechet_mean import FrechetMean
from veilspan.estimators.manifold.minimize import ManifoldMinimizer
from veilspan.estimators.schema_input import SCHEMA_FACTS
from veilspan.estimators.stream.private_tracker import NOISE_IN_MEMORY
from veilspan.privacy.statement import PrivacyStatement
from veilspan.reports.html import Html, details, tag
from veilspan.reports.subject import Subject


class Assumption(NamedTuple):
    """One thing that a promise rests on.

    Attributes
    ----------
    plain : str
        For whoever signs.
    exact : str
        For engineers.
    asked : bool
        Whether somebody must answer for it; else it was done by the software and is only said.
    """

    plain: str
    exact: str
    asked: bool = True


#: Plain words by the exact text; texts that vary are known by how they begin.
_PLAIN: dict[str, str] = {
    base.PUBLIC_FORM: "All settings (limits, number of results, budget) were fixed without looking "
    "at the data. Everybody may know which columns the table has, and that it holds numbers only.",
    SCHEMA_FACTS: "The description of the table (ranges, categories, number of people) and all "
    "settings were written down without looking at the data. Everybody may know them.",
    base.ON_A_CLUSTER: "The data lay on several machines. All of them may hold it, and on which "
    "machine a row lay has nothing to do with what it says.",
    base.PEOPLE_ON_A_CLUSTER: "The data lay on several machines, and all of them may hold it.",
    base.TIMING: "Nobody outside could watch how long the computation took, how much memory it "
    "needed, or whether it crashed.",
    base.GRID_NOISE: "The computer's rounding of random numbers tells nobody anything. No way to "
    "use it is known, nor a proof that there is none.",
    linear.PUBLIC_BOUNDS: "The limits of the columns were known beforehand, not read from this "
    "data. Values outside were moved to the limit.",
    regression.PUBLIC_TARGETS: "The limits of what is predicted were known beforehand, not read "
    "from this data.",
    classifier.GIVEN_LABELS: "Everybody may know which answers are possible, and the data has no "
    "others.",
    classifier.SEEN_LABELS: "Everybody may know which answers occur in the data: they were read "
    "from it. No answer is one that a single person could have given.",
    matrix_completion.JOINT: "Suggestions made for a person use that person's own ratings, and are "
    "shown to that person alone.",
    matrix_completion.PUBLIC_ITEMS: "Everybody may know the list of items and the scale of the "
    "ratings.",
    NOISE_IN_MEMORY: "The running program was neither copied nor restored from a copy.",
    FrechetMean._assumptions[0]: "Everybody may know of which form the records are; what they say "
    "is protected.",
    ManifoldMinimizer._assumptions[0]: "The formula that was fitted looks at one record at a time, "
    "and everybody may know of which form records are.",
}
_DONE: dict[str, str] = {
    base.EXACT_NOISE: "The random noise was drawn by exact arithmetic, so that rounding tells "
    "nothing.",
    linear.PRIVATE_BOUNDS: "The limits of the columns were estimated from the data, within the "
    "same promise.",
    regression.PRIVATE_TARGETS: "The limits of what is predicted were estimated from the data, "
    "within the same promise.",
}
_BEGINNINGS: dict[str, str] = {
    "randomness: ": "The computer drew its random numbers from a sound secret source, and nobody "
    "else could read or guess them.",
    "the schema named here (ranges, categories, fills, number of ": "The description of the table "
    "and all settings were written down without looking at the data. All rows of one person carry "
    "the same id, and no two people share one.",
    "each person has at most one row in a block ": "Nobody appears more often in the stream than "
    "the exact wording below says.",
    "blocks are ": "Everybody may know how many rows a block of the stream has, and when it "
    "arrived.",
    "which entries are missing (NaN) ": "Which cells were empty is protected like the others.",
}
_SIMULATED = "a seeded generator"


def list_assumptions(statement: PrivacyStatement) -> list[Assumption]:
    """All that the promise of a statement rests on, those first that its unit and ledger imply."""
    found = [_about_unit(statement.unit), _about_others(statement)]
    return [*found, *(_translate(text) for text in statement.assumptions)]


def assumptions_section(subject: Subject) -> Html:
    """The checklist to initial, what was done by the software, and the exact wording."""
    listed = list_assumptions(subject.statement)
    asked = [one for one in listed if one.asked]
    done = [one for one in listed if not one.asked]
    boxes = (tag("li", tag("span", "", class_="initial"), tag("span", one.plain)) for one in asked)
    intro = (
        "The promise holds if all of these do. Nobody can see them in the release: whoever knows "
        "puts initials into the box."
    )
    exact = (tag("li", one.exact) for one in listed)
    return tag(
        "section",
        tag("h2", "What it assumes: a checklist to initial"),
        tag("p", intro, class_="muted"),
        tag("ol", *boxes, class_="checklist"),
        tag("p", "Seen to by the software: ", " ".join(one.plain for one in done))
        if done
        else None,
        details("In the exact wording, for engineers", tag("ul", *exact), class_="record"),
        id="assumptions",
        class_="card",
    )


def count_boxes(statement: PrivacyStatement) -> int:
    """How many boxes there are to initial."""
    return sum(one.asked for one in list_assumptions(statement))


def _about_unit(unit: str) -> Assumption:
    first, _, rest = unit.partition(": ")
    exact = f"the promise is to {unit}"
    if first == "one row of the table":
        return Assumption("Nobody has more than one row in the table.", exact)
    who = first.removeprefix("one ")
    if rest == "one row of the table":
        return Assumption(f"No {who} has more than one row in the table.", exact)
    return Assumption(f"What is promised is promised to {first}: {rest or 'all of it'}.", exact)


def _about_others(statement: PrivacyStatement) -> Assumption:
    if statement.ledger is None:
        return Assumption(
            "No other figures about the same people were released, or what all releases tell "
            "together was thought about: this release was charged to no account.",
            "epsilon and delta are those of this release alone; no ledger was charged",
        )
    name = statement.ledger["dataset"]
    return Assumption(
        f"Every other release about the same people was charged to the account of “{name}” too.",
        "a ledger counts what goes through it: {dataset}, entry {entry}".format(**statement.ledger),
    )


def _translate(text: str) -> Assumption:
    if text in _PLAIN:
        return Assumption(_PLAIN[text], text)
    if text in _DONE:
        return Assumption(_DONE[text], text, asked=False)
    if text.startswith("randomness: ") and _SIMULATED in text:
        return Assumption("The random numbers came from a seed: there is no secret.", text)
    for beginning, plain in _BEGINNINGS.items():
        if text.startswith(beginning):
            return Assumption(plain, text)
    return Assumption(f"{text[:1].upper()}{text[1:]}.", text)
