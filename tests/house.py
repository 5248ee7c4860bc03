"""The house: every folder, what it is for, and its modules in order.

The order is the rule. A module may import what stands before it: earlier modules of its own
folder, and anything in an earlier row. `python -m tests.house` writes the table in
CONTRIBUTING.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- house -->", "<!-- /house -->"


class Row(NamedTuple):
    """A folder, or a few modules of a package's top level."""

    place: str
    purpose: str
    modules: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of its modules, in order."""
        return tuple(f"{self.place}.{name}" for name in self.modules)


def _row(place: str, purpose: str, modules: str) -> Row:
    return Row(place, purpose, tuple(modules.split()))


HOUSE: tuple[Row, ...] = (
    _row("hermes_store", "the version, and every exception the store raises", "version errors"),
    _row(
        "hermes_store.records",
        "frozen records by topic; reading stored content; the gate that makes text safe to show",
        """text content tool_calls sources edge session message listing transcript recap search
        recall marks trash prune statistics report transfer""",
    ),
    _row(
        "hermes_store.config",
        "settings, where files live, reading config.yaml",
        "paths reader settings",
    ),
    _row("hermes_store.engines", "what every engine offers the rest of the store", "base"),
    _row(
        "hermes_store.engines.sqlite",
        "SQLite files, schema, migrations, full-text indexes, the files beside the database",
        """schema fingerprint fulltext activity activity_view capabilities error_translation
        transaction file checkpoint durability writer_queue migrations database tokenizer
        side_index sidecar watch""",
    ),
    _row(
        "hermes_store.sessions",
        "sessions, messages, titles, lineage, compression, branches",
        """shared_values files sessions lineage messages titles in_use follow_up compression
        branches undo api""",
    ),
    _row(
        "hermes_store.search",
        "the search language, planning and running a search, ranking, snippets, relaxation",
        """query_tree language times fields words matching snippets cancellation candidates plan
        run grouping ranking relaxation search search_messages""",
    ),
    _row(
        "hermes_store.search.recall",
        "what earlier conversations say about a question",
        "question excerpt conversations recall",
    ),
    _row("hermes_store.search", "what a store offers on search", "api"),
    _row(
        "hermes_store.browse",
        "lists: order, rows, headings, hidden; transcripts, finding in one, recaps",
        "recent rows order transcript find recap api",
    ),
    _row(
        "hermes_store.marks",
        "pins, tags, archive, saved and earlier searches",
        "marks saved_searches",
    ),
    _row(
        "hermes_store.trash",
        "deleting, the states of a copy in the trash, restoring, purging",
        "delete session_copy tables states move restore purge api",
    ),
    _row(
        "hermes_store.transfer",
        "export and import, one module for each format",
        """redact export_text jsonl markdown html output_file export import_records import_session
        import_file api""",
    ),
    _row(
        "hermes_store.gateway",
        "bots: session keys, reset policies, routing, transcript files",
        """message_source keys reset_policy file_lock routing_file before_reset open_sessions
        title_command transcript_files transcript_sync router""",
    ),
    _row(
        "hermes_store.upkeep",
        "prune, statistics, insights, optimise, doctor, repair",
        "statistics insights prune_filter prune optimize auto_prune doctor repair api",
    ),
    _row(
        "hermes_store",
        "`Store` holds the parts; `SessionDB` speaks Hermes Agent's dialect",
        "store sessiondb",
    ),
    _row(
        "hermes_tui",
        "how to open the screens, and every action with its keys",
        "opening actions first_rows",
    ),
    _row(
        "hermes_tui.presentation",
        "records to text and styled lines, for the command line and the screens",
        """text line numbers times charts themes rows tree details header empty_list search_results
        markdown messages""",
    ),
    _row(
        "hermes_tui.widgets",
        "widgets that know nothing of sessions",
        "cache clipboard notice field heights status_bar toggles line_view virtual_list",
    ),
    _row(
        "hermes_tui",
        "the way from screens to the store; private parts of Textual",
        "access textual_private",
    ),
    _row("hermes_tui.transcript", "a whole conversation to read", "page view"),
    _row(
        "hermes_tui.dialogs",
        "rename, delete, prune, export, trash, settings, help and more",
        "base delete export help palette progress prune rename saved_searches settings stats trash",
    ),
    _row(
        "hermes_tui.browse",
        "the main screen: search, list and reading pane",
        """completion search_field search_pane session_list lineage_tree list_pane reading_pane
        changes key_hints pending screen""",
    ),
    _row(
        "hermes_tui.chat",
        "the chat: screen, turn loop, provider, slash commands, titles, summaries",
        """replies errors endpoint error_translation provider slash_commands summaries auto_title
        conversation conversation_queue commands key_hints prompt conversation_pane screen""",
    ),
    _row(
        "hermes_tui.demo",
        "the demo's sample sessions and its scripted model",
        "answers model_server sample_phrases sample_sessions",
    ),
    _row("hermes_tui", "the application", "app"),
    _row(
        "hermes_tui.cli.common",
        "what verbs share: printing, progress, finding the agent, opening a screen",
        "output progress context agent mark recap_panel builtin_chat open_screen",
    ),
    _row(
        "hermes_tui.cli",
        "one module for each verb, named as the verb",
        """archive config delete doctor export import_ insights list optimize pin prune recall
        rename search show stats tag trash restore tree unarchive unpin untag chat resume browse
        verbs completions main""",
    ),
    _row("hermes_tui", "the command", "__main__"),
)

PLACES: dict[str, int] = {
    name: place for place, name in enumerate(name for row in HOUSE for name in row.names)
}


def table() -> str:
    """Return the table for CONTRIBUTING.md."""
    lines = ["| Folder | What it is for | May import |", "|---|---|---|"]
    above = ""
    for row in HOUSE:
        folder = row.place.replace(".", "/") + "/"
        named = folder if row.place.count(".") else ", ".join(f"{m}.py" for m in row.modules)
        shown = f"`{folder}`" if named == folder else f"`{folder}`: {named}"
        lines.append(f"| {shown} | {row.purpose} | {above or 'nothing'} |")
        above = "all rows above" if above else "the row above"
    return "\n".join(lines)


def with_table(page: str) -> str:
    """Return a page with the table put between its two marks."""
    before, rest = page.split(START, 1)
    return f"{before}{START}\n{table()}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
