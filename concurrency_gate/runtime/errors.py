"""Everything the runtime raises, and the three things a job may raise to speak to its pool."""

from __future__ import annotations

from .bounds import SECONDS, pause
from .reload import is_a


class RuntimeLibraryError(Exception):
    """The base of every error that the runtime itself raises."""


class PoolFull(RuntimeLibraryError):  # noqa: N818 - a refusal, and the name says which
    """No room: every worker is busy and `max_pending` jobs already wait. Nothing was started."""


class Refused(RuntimeLibraryError):  # noqa: N818
    """A bounded service said no at once instead of queueing the caller (see `WaiterHub`)."""


class Stopping(RuntimeLibraryError):  # noqa: N818
    """Stop has come: raised by `Job.check()`, and by whatever takes no more work because of it."""


class JobTimeout(RuntimeLibraryError, TimeoutError):  # noqa: N818
    """The job's own deadline has passed, as opposed to any other timeout inside it."""


class JobCancelled(RuntimeLibraryError):  # noqa: N818
    """The job was cancelled, by its handle or by shutdown, before it had a result."""


class JobFailed(RuntimeLibraryError):  # noqa: N818
    """The job raised what must not reach its caller as it is: SystemExit, KeyboardInterrupt and their
    like."""


class WorkerLost(RuntimeLibraryError):  # noqa: N818
    """A worker process ended under its job: a crash, the system's memory killer, `os._exit`."""


class AttemptsSpent(RuntimeLibraryError):  # noqa: N818
    """Processes that died under the job have spent every attempt at it: it was not tried again."""


class BudgetExceeded(RuntimeLibraryError, ValueError):  # noqa: N818
    """Workers and relays together want more connections than the budget gives."""


class LeaseTooShort(RuntimeLibraryError, ValueError):  # noqa: N818
    """A lease would expire while the job it protects may still be running."""


class UnsafeTimeout(RuntimeLibraryError, ValueError):  # noqa: N818
    """An HTTP limit is not shorter than the timeout of the job that makes the call."""


class Refuse(Exception):  # noqa: N818
    """Raise it in a job that must not be tried again: no retry, no alarm, outcome `declined`."""


class Snooze(Exception):  # noqa: N818
    """Raise it in a job to be run again `seconds` later, from 0 to a week; the attempt is not spent."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = pause("seconds", seconds)  # asked here, so that the error is the job's


def snooze_of(error: BaseException | None) -> float | None:
    """The seconds of a snooze; None if `error` is none, or is of a derived class that forgot to say."""
    seconds: object = getattr(error, "seconds", None) if is_a(error, Snooze) else None
    return seconds if isinstance(seconds, int | float) and 0 <= seconds <= SECONDS else None
