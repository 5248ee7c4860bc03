"""How fast the browser opens, how much memory it uses, how soon results follow a key.

Runs the real program in a pseudo-terminal, and an empty Textual application for comparison.

    python -m bench.browser [--sessions 100000]
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

NOW = 1_790_000_000.0
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("painted")
Empty().run()
"""
TYPED = ("docker deploy", "connection reset", "error", "snapshot retry", "部署")
LIMIT_SECONDS = 30.0


class Terminal:
    """A program in a pseudo-terminal of 120 by 36."""

    def __init__(self, command: list[str]) -> None:
        self.started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "TEXTUAL_DISABLE_KITTY_KEY": "1"}
            os.execv(command[0], command)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))

    def wait_for(self, wanted: bytes) -> float:
        """Return the seconds from now until a text is drawn."""
        began, seen = time.perf_counter(), b""
        while wanted not in seen:
            if time.perf_counter() - began > LIMIT_SECONDS:
                raise TimeoutError(f"{wanted!r} was never drawn")
            seen = seen[-len(wanted) :] + self._read(0.05)
        return time.perf_counter() - began

    def drain(self, seconds: float) -> None:
        """Read and discard output for some seconds."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self._read(0.05)

    def _read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self._fd], [], [], seconds)
        return os.read(self._fd, 65_536) if ready else b""

    def send(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._fd, keys)

    def memory(self) -> float:
        """Return the resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def cpu(self) -> float:
        """Return the CPU seconds used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Kill the program."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)


def browser(database: Path | str) -> list[str]:
    """Return the command that opens the browser on a database."""
    return [sys.executable, "-m", "hermes_tui", "sessions", "browse", "--db", str(database)]


def first_title(database: Path | str) -> bytes:
    """Return a text that only the first rows contain."""
    from hermes_store.records.listing import View
    from hermes_store.store import Store

    with Store(database, read_only=True) as store:
        ids = [e for e in store.lists.entries(View(limit=20), now=NOW) if isinstance(e, str)]
        named = (row.title for row in store.lists.rows(ids, now=NOW) if row.title)
        return next(title for title in named if title.isascii())[:20].encode()


def openings(
    commands: dict[str, tuple[list[str], bytes]], times: int
) -> dict[str, tuple[list[float], float]]:
    """Return for each command the times until a text is drawn, and its memory a while later.

    The commands take turns, so that a slow moment of the machine affects all of them; each turn is
    compared with the same turn of the others.
    """
    took: dict[str, list[float]] = {name: [] for name in commands}
    memory = {}
    for turn in range(times):
        for name, (command, wanted) in commands.items():
            terminal = Terminal(command)
            terminal.wait_for(wanted)
            took[name].append((time.perf_counter() - terminal.started) * 1_000)
            if turn == times - 1:
                terminal.drain(2.0)
                memory[name] = terminal.memory()
            terminal.close()
    return {name: (each, memory[name]) for name, each in took.items()}


def keystrokes(database: Path) -> list[float]:
    """Return the milliseconds from each key to its results, typing fast."""
    terminal = Terminal(browser(database))
    terminal.wait_for(first_title(database))
    terminal.drain(2.0)
    took = []
    for text in TYPED:
        for letter in text:
            began = time.perf_counter()
            terminal.send(letter.encode())
            terminal.wait_for(b" first")
            took.append((time.perf_counter() - began) * 1_000)
            terminal.drain(0.06)
        terminal.drain(1.5)
        terminal.send(b"\x1b")
        terminal.drain(1.0)
    terminal.close()
    return took


def idle(database: Path, seconds: float = 10.0) -> float:
    """Return the share of a core that an idle browser uses."""
    terminal = Terminal(browser(database))
    terminal.wait_for(first_title(database))
    terminal.drain(4.0)
    before = terminal.cpu()
    terminal.drain(seconds)
    share = (terminal.cpu() - before) / seconds
    terminal.close()
    return share


def run(folder: Path, sessions: int, times: int = 40) -> None:
    """Measure with few and with many sessions, and print the figures."""
    from bench.sample_sessions import create
    from hermes_store.store import Store

    few, many = folder / "few.db", folder / "many.db"
    create(few, 20, now=NOW)
    if not many.exists():
        create(many, sessions, now=NOW, exchanges=3.2)
    with Store(many) as store:
        store.search.prepare()
        figures = store.upkeep.statistics()
    print(f"\nbrowser: {figures.sessions:,} sessions, {figures.messages:,} messages", flush=True)
    script = folder / "empty.py"
    script.write_text(EMPTY)
    measured = openings(
        {
            "empty Textual application": ([sys.executable, str(script)], b"painted"),
            "browser, 20 sessions": (browser(few), first_title(few)),
            "browser, all sessions": (browser(many), first_title(many)),
        },
        times,
    )
    bare, bare_memory = measured["empty Textual application"]
    for name, (took, memory) in measured.items():
        ratio = statistics.median(ours / theirs for ours, theirs in zip(took, bare, strict=True))
        print(f"{name:<34} {statistics.median(took):6.0f} ms {memory:7.1f} MB   {ratio:.2f}x, "
              f"{memory / bare_memory:.2f}x", flush=True)  # fmt: skip
    keys = sorted(keystrokes(many))
    print(f"{'key to results':<34} {statistics.median(keys):6.0f} ms   "
          f"p95 {keys[int(len(keys) * 0.95)]:.0f} ms, worst {keys[-1]:.0f} ms")  # fmt: skip
    print(f"{'idle':<34} {idle(many) * 100:6.1f} % of a core", flush=True)


def main() -> None:
    """Measure the browser alone."""
    parser = argparse.ArgumentParser(prog="make bench-browser", description=__doc__)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keep the databases here and reuse them")
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        run(options.folder, options.sessions)
        return
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as name:
        run(Path(name), options.sessions)


if __name__ == "__main__":
    main()
