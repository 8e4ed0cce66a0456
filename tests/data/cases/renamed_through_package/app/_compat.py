try:
    from asyncio import create_task as go
except ImportError:
    from asyncio import ensure_future as go
