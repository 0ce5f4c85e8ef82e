"""Released profiles of a dataset, which the rows of a simulation may be like.

A released profile is public: whoever plans may use it, and it costs nothing.
"""

from __future__ import annotations

from typing import Any

from veilspan.catalogue import COMMANDS
from veilspan.studio.asking import Asking
from veilspan.studio.releases import Released, list_releases
from veilspan.studio.state import Studio

#: What an estimator must read for a profile to say something of it.
DESCRIBED = ("rows", "labels", "numbers")


def find_profile(studio: Studio, asking: Asking) -> Released | None:
    """The newest released profile of the question's schema that nobody withdrew, if it has one."""
    if COMMANDS[asking.estimator].reads not in DESCRIBED:
        return None
    for released in list_releases(studio):
        request = released.request
        if (
            request.estimator == "profile"
            and request.dataset == asking.dataset
            and request.schema_digest == asking.schema_digest
            and not studio.records.say_withdrawn(request)
            and released.statement()["private"]
        ):
            return released
    return None


def describe_profile(studio: Studio, asking: Asking) -> dict[str, Any] | None:
    """Where the profile lies that the question's rows are to be like, and the digest of it."""
    found = find_profile(studio, asking) if asking.like_profile else None
    if found is None:
        return None
    from veilspan.releases.documents import read_document  # which loads scikit-learn

    return {"folder": str(found.folder), "digest": read_document(found.folder, None)["digest"]}
