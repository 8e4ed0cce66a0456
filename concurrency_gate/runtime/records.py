"""Log records with fields; and calling what the application gave without coming to harm."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

log = logging.getLogger("concurrency_gate.runtime")

DEBUG, INFO, WARNING, ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR


def record(level: int, message: str, *, error: BaseException | None = None, **fields: object) -> None:
    """Log `message key=value ...`; the fields are also the record's attribute `concurrency`, for JSON
    formatters.

    Never raises: a filter or a handler is the application's code, and this is called by workers, by the
    clock and by whoever stops.
    """
    try:
        if not log.isEnabledFor(level):
            return
        texts = {key: text_of(value) for key, value in fields.items()}
        plain = {key: fields[key] if isinstance(fields[key], int | float) else texts[key] for key in texts}
        text = " ".join(f"{key}={value}" for key, value in texts.items() if "\n" not in value)
        long = "".join(f"\n{value}" for value in texts.values() if "\n" in value)
        log.log(level, "%s %s%s", message, text, long, exc_info=error, extra={"concurrency": plain})
    except BaseException:
        traceback.print_exc()


def guarded(callback: Callable[[], object], what: str) -> None:
    """Call what the application gave: a callback. Whatever it raises is logged, and ends nobody else."""
    try:
        callback()
    except BaseException as error:
        record(ERROR, f"{what} failed", error=error)


def text_of(thing: object) -> str:
    """`str(thing)`, also for an exception whose own `__str__` raises."""
    try:
        return str(thing)
    except BaseException as error:
        return f"({type(thing).__name__}, whose text is not to be had: {type(error).__name__})"
