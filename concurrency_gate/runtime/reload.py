"""What a reload must not break: objects made before it meet classes made after it."""

from __future__ import annotations


def is_a(value: object, *kinds: type) -> bool:
    """`isinstance`, also for an object of a class that was loaded anew meanwhile."""
    if isinstance(value, kinds):
        return True
    names = {(kind.__module__, kind.__qualname__) for kind in kinds}
    return any((one.__module__, one.__qualname__) in names for one in type(value).__mro__)
