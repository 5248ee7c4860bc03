"""Entry point of the console scripts `hermes` and `hermes-sessions`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # Loading modules makes no garbage; looking for some takes a tenth of the time. The verb
    # turns it on again.
    gc.disable()
    try:
        from hermes_tui.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while the modules were still being loaded
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
