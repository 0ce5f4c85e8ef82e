"""A hospital's table and its schema, as files for the commands."""

from functools import cache

from veilspan.datasets import make_ward

#: Rows of the table; its schema says so too.
COUNT = 400
SECRET = "Karoline"
#: A cell of every kind that no column can read.
HOSTILE = {
    "text in a number": f"{SECRET}",
    "a broken date": f"2024-02-31 {SECRET}",
    "a stray quote": f'{SECRET}"x',
    "an open quote": f'"{SECRET}',
    "a NUL": f"{SECRET}\x00",
    "an escape": f"\x1b[31m{SECRET}",
    "a huge number": "1e400",
    "an underscore": "1_000",
    "not a number": "NaN",
    "an extra cell": f"1,{SECRET}",
    "a lone carriage return": f"{SECRET}\rx",
    "ten megabytes": SECRET + "x" * 10_000_000,
}


@cache
def ward_csv():
    """The text of the table."""
    return make_ward(COUNT).to_csv()


@cache
def ward_toml():
    """The text of its schema."""
    return make_ward(COUNT).schema_toml


def save_ward(folder):
    """Write both; return the paths of the table and of the schema."""
    (folder / "ward.csv").write_text(ward_csv())
    (folder / "ward.toml").write_text(ward_toml())
    return folder / "ward.csv", folder / "ward.toml"
