"""How leases and waiters come by a PostgreSQL connection of their own. The only door to psycopg."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

Connect = str | Callable[[], "psycopg.Connection[Any]"]

# A server that vanished without a word is noticed within seconds and not after the kernel's default of two
# hours. https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
_LIVELY = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "application_name": "concurrency-gate",
}


def psycopg_module() -> ModuleType:
    """psycopg 3, imported when it is first needed; an ImportError that says what to install without it."""
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise ImportError("PostgreSQL needs psycopg 3: pip install 'concurrency-gate[postgres]'") from error


def connect(source: Connect) -> psycopg.Connection[Any]:
    """Open a connection in autocommit from a conninfo string, or by calling `source`. Blocks.

    What the string says about liveness wins over the defaults here. Raises psycopg's errors.
    """
    module = psycopg_module()
    connection: psycopg.Connection[Any]
    if callable(source):
        connection = source()
        connection.autocommit = True
    else:
        given = module.conninfo.conninfo_to_dict(source)
        connection = module.connect(**{**_LIVELY, **given}, autocommit=True)
    return connection
