"""Bounded, time-limited, stoppable work: what to write instead of bare threads and tasks."""
