"""Entry point of the console scripts `hermes` and `hermes-sessions`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # Loading modules makes no garbage, and collecting takes a tenth of the startup time. The verb
    # turns the collector on again.
    gc.disable()
    try:
        from hermes_tui.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were still loading
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
