"""A gate that keeps Python code's concurrency bounded, time-limited and stoppable."""

__version__ = "0.1.0"
