"""Entry point of the console scripts `hermes` and `hermes-sessions`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from hermes_tui.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while the modules were still being loaded
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
