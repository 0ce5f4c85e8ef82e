"""What a finished run left on the disk, read back: one JSON file an item."""

import json
from pathlib import Path
from typing import Any

#: Of the layout of the file. A file of another schema counts as none: it is run again.
SCHEMA = 1


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the record of a finished run, or ``None`` where there is none that can be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(record, dict) and record.get("schema") == SCHEMA
    return record if known else None


def read_status(out: Path, name: str) -> dict[str, Any]:
    """Tell how the last run of an item in ``out`` ended, in words and numbers."""
    record = read_record(out / f"{name}.json")
    if any((out / f"{name}.{scale}.cells.jsonl").exists() for scale in ("quick", "full")):
        return {"status": "interrupted: run it again to go on", "scale": None}
    if record is None:
        return {"status": "not run", "scale": None}
    judged = [claim for claim in record["claims"] if claim["holds"] is not None]
    held = sum(claim["holds"] for claim in judged)
    text = f"{record['scale']}: {held} of {len(judged)} claims hold" if judged else record["scale"]
    return {"status": text, "scale": record["scale"], "hold": held, "claims": len(judged)}
