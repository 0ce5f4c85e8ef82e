"""Long lists of categories from a file beside the schema, one a line."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from veilspan._files import IrregularFileError, read_regular

#: Largest file of categories.
MOST_BYTES = 100 * 10**6


def read_categories(name: str, folder: Path | None) -> tuple[str, ...]:
    """The lines of a file of categories, without empty ones.

    Parameters
    ----------
    name : str
        Path of the file as the schema has it: below the folder, not above it. Links are followed.
    folder : Path or None
        Where the schema lies; ``None`` if it came as text, which opens no file.

    Raises
    ------
    ValueError
        With what to do. It quotes no line: the file may be the table itself by mistake.
    """
    if folder is None:
        raise ValueError(
            "a schema that is read from text opens no file by itself: say Schema.from_toml(text, "
            "folder=...), or Schema.load(path)."
        )
    above = ".." in PurePosixPath(name.replace("\\", "/")).parts
    absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive
    if not name or "\0" in name or above or absolute:
        raise ValueError("the file lies beside the schema or in a folder below it: no .., no /.")
    try:
        data = read_regular(folder / name, MOST_BYTES)
    except IrregularFileError as error:
        raise ValueError(str(error)) from None
    except OSError as error:
        raise ValueError(f"{folder / name} cannot be read ({error.strerror}).") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{folder / name} is not UTF-8.") from None
    lines = tuple(line.strip() for line in text.split("\n") if line.strip())
    if not lines:
        raise ValueError(f"{folder / name} is empty: write one category a line.")
    return lines
