"""The documents, their index, and the outbox of work that they leave to do: one SQLite file.

A transaction here writes rows and nothing else. What is to happen afterwards, elsewhere, is a row in the
outbox, written in the same transaction; relays take it from there.
"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS document (id INTEGER PRIMARY KEY, text TEXT NOT NULL, words INTEGER);
CREATE TABLE IF NOT EXISTS entry (word TEXT, document INTEGER, PRIMARY KEY (word, document));
CREATE TABLE IF NOT EXISTS outbox (
    id INTEGER PRIMARY KEY, task TEXT NOT NULL, document INTEGER NOT NULL,
    taken_until REAL NOT NULL DEFAULT 0, taker TEXT
);
"""

TAKEN_FOR = 60.0
"""Seconds after which work that a process took and did not settle comes again, here or in another process."""


@dataclass(frozen=True)
class Work:
    """A row of the outbox: something to do about `document`."""

    id: int
    document: int


class Store:
    """Each operation has a connection of its own for as long as it takes, and gives it back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taker = f"{socket.gethostname()}:{os.getpid()}"
        with self._transaction() as connection:
            connection.executescript(SCHEMA)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=5)) as connection, connection:
            yield connection

    def add(self, text: str) -> int:
        """Write a document, and what is to be done about it."""
        with self._transaction() as connection:
            cursor = connection.execute("INSERT INTO document (text) VALUES (?)", [text])
            tasks = [(task, cursor.lastrowid) for task in ("index", "webhook")]
            connection.executemany("INSERT INTO outbox (task, document) VALUES (?, ?)", tasks)
        return int(cursor.lastrowid or 0)

    def take(self, task: str, limit: int) -> list[Work]:
        """At most `limit` rows of the outbox that nobody has taken, taken for us."""
        now = time.time()
        with self._transaction() as connection:
            rows = connection.execute(
                "UPDATE outbox SET taken_until = ?, taker = ? WHERE id IN"
                " (SELECT id FROM outbox WHERE task = ? AND taken_until < ? ORDER BY id LIMIT ?)"
                " RETURNING id, document",
                [now + TAKEN_FOR, self._taker, task, now, limit],
            ).fetchall()
        return [Work(*row) for row in sorted(rows)]

    def settle(self, work: Work) -> None:
        """It is done: take it out of the outbox."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM outbox WHERE id = ?", [work.id])

    def give_back(self) -> int:
        """At the end: let others have at once what we took and did not settle; how much that was."""
        with self._transaction() as connection:
            return connection.execute(
                "UPDATE outbox SET taken_until = 0 WHERE taker = ? AND taken_until > 0", [self._taker]
            ).rowcount

    def text(self, document: int) -> str:
        with self._transaction() as connection:
            row = connection.execute("SELECT text FROM document WHERE id = ?", [document]).fetchone()
        return str(row[0]) if row else ""

    def index(self, document: int) -> None:
        words = sorted(set(re.findall(r"\w+", self.text(document).lower())))
        entries = [(word, document) for word in words]
        with self._transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO entry VALUES (?, ?)", entries)
            connection.execute("UPDATE document SET words = ? WHERE id = ?", [len(words), document])

    def is_indexed(self, document: int) -> bool:
        with self._transaction() as connection:
            row = connection.execute("SELECT words FROM document WHERE id = ?", [document]).fetchone()
        return row is not None and row[0] is not None

    def search(self, word: str) -> list[int]:
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT document FROM entry WHERE word = ? ORDER BY document", [word.lower()]
            ).fetchall()
        return [document for (document,) in rows]

    def totals(self) -> tuple[int, int]:
        """How many documents there are, and how many different words are indexed."""
        with self._transaction() as connection:
            documents, words = connection.execute(
                "SELECT (SELECT count(*) FROM document), (SELECT count(DISTINCT word) FROM entry)"
            ).fetchone()
        return documents, words
