"""`concurrency-gate`, and `python -m concurrency_gate`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code.

    Nothing is collected: what one run makes is needed to its end, and then looking through it once more for garbage
    would take a tenth of the run."""
    gc.disable()
    from concurrency_gate.replay import replay

    code = replay(sys.argv[1:])
    if code is None:
        from concurrency_gate.cli import run

        code = run(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    # `python -m` puts the working directory first on the path. The checked code lies there, and a click.py or
    # json.py among it must not run.
    if not sys.flags.safe_path:
        del sys.path[0]
    main()
