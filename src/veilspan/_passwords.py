"""Show addresses of servers without their passwords, whatever characters a password has."""

from __future__ import annotations

import re
from urllib.parse import unquote

# Parameters of libpq that may be shown; all others are left out, secrets among them.
_SHOWN = {
    *("application_name", "connect_timeout", "dbname", "host", "hostaddr", "keepalives", "port"),
    *("service", "sslcert", "sslmode", "sslrootcert", "target_session_attrs", "user"),
}
# host, host:port, [address]:port
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")
# key = value, with the quotes of libpq: 'it\'s'. The last one may be missing by mistake.
_PAIR = re.compile(r"(\w+)\s*=\s*('(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])*)", re.DOTALL)
_SECRET = re.compile(r"\b(ssl)?password\s*=", re.IGNORECASE)
_PAIRS = re.compile(r"\s*(dbname|host|hostaddr|port|service|user|(ssl)?password)\s*=")


def without_password(address: str) -> str:
    """Return a URL, or pairs ``key=value``, such that it may be shown and stored.

    A URL reads ``scheme://user:password@hosts/database?parameters``. Special characters of a
    password are to be written as ``%40``; where somebody did not, all up to the last ``@`` is taken
    for user and password, and if that could as well be hosts and parameters nothing is shown:
    rather too little than a part of a password.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        return _without_secret_pairs(address)
    login, at, place = rest.rpartition("@")
    if ":" not in login:  # without a colon there is no password before the @
        login, at, place = _user_alone(rest)
    elif "/" in login and "?" in login:
        return f"{scheme}://..."
    server, _, parameters = place.partition("?")
    hosts, slash, database = server.partition("/")
    shown = "&".join(part for part in parameters.split("&") if _may_be_shown(part))
    user = re.split("[:/?]", login, maxsplit=1)[0]
    named = ",".join(_without_false_port(host) for host in hosts.split(","))
    return f"{scheme}://{user}{at}{named}{slash}{database}{'?' if shown else ''}{shown}"


def is_unclear(url: str) -> bool:
    """Whether a URL can be read in two ways, by people and by libpq.

    libpq ends the login at the first ``@``, if no ``/`` comes before it. With a ``/`` or a second
    ``@`` in a password it takes a part of it for a host or a port, and says so in its errors.
    """
    rest = url.partition("://")[2]
    login, at, place = rest.rpartition("@")
    hosts = re.split("[/?]", place if at else rest, maxsplit=1)[0]
    doubtful = ":" in login and ("/" in login or "@" in login)
    return doubtful or not all(_HOST.fullmatch(host) for host in hosts.split(","))


def are_pairs(text: str) -> bool:
    """Whether a text is meant as libpq's ``key=value``, not as the name of a file."""
    return bool(_PAIRS.match(text) or _SECRET.search(text))


def _user_alone(rest: str) -> tuple[str, str, str]:
    """Split ``user@place``; an @ after the question mark belongs to a parameter."""
    before, question, parameters = rest.partition("?")
    login, at, place = before.rpartition("@")
    return login, at, place + question + parameters


def _without_false_port(host: str) -> str:
    """A host with its port; what stands in the place of a port and is no number is left out."""
    return host if _HOST.fullmatch(host) else host.partition(":")[0]


def _may_be_shown(part: str) -> bool:
    key, _, value = part.partition("=")
    return unquote(key) in _SHOWN and "?" not in value


def _without_secret_pairs(text: str) -> str:
    if not _SECRET.search(text):
        return text
    pairs = [(key, value) for key, value in _PAIR.findall(text) if key in _SHOWN]
    return " ".join(f"{key}={value}" for key, value in pairs)
