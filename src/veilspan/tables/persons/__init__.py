"""Several rows a person: whose row it is, which are kept, and how they become one."""

from veilspan.tables.persons.gathering import gather_people

__all__ = ["gather_people"]
