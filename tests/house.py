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
        """safe_text stored_values sql_patterns message_content tool_calls sources workspace
        relation_to_parent session message listing transcript recap search recall marks trash
        prune statistics upkeep_reports transfer""",
    ),
    _row(
        "hermes_store.config",
        "settings, where files live, reading config.yaml",
        "paths yaml_reader settings agent_settings database_address",
    ),
    _row(
        "hermes_store.engines",
        "what every engine offers the rest of the store",
        "base message_states",
    ),
    _row(
        "hermes_store.engines.sqlite",
        "SQLite files, schema, migrations, full-text indexes, the files beside the database",
        """dialect schema schema_reader trigger_fingerprint fulltext unknown_layout
        session_activity_table session_activity_temp_view file_capabilities error_translation
        create_file closing
        files_seen in_memory cjk_stand_in lasting_locks lock_waiting raw_rows tokenizer
        transaction damage sqlite_file checkpoint holders
        migrations session_database erase word_list_file words_of_index word_list
        sidecar_database watch
        salvage""",
    ),
    _row(
        "hermes_store.engines.postgres",
        "PostgreSQL: addresses, connections, schema, migrations, the index of words, locks",
        """address dialect text_coding locks schema activity_triggers appending error_translation
        connections receipts migrations transaction snapshots lexemes indexing database
        word_index sidecar watch roles""",
    ),
    _row(
        "hermes_store.engines",
        "opens a database with the engine that its name asks for",
        "opening",
    ),
    _row(
        "hermes_store.sessions",
        "sessions, messages, titles, lineage, compression, branches",
        """key_values session_files system_prompts session_rows model_usage lineage late_messages
        message_order new_message messages titles workspaces in_use start_child_session compression
        branches undo api""",
    ),
    _row(
        "hermes_store.search",
        "the search language, planning and running a search, ranking, snippets, relaxation",
        """times query_tree query_language query_words snippets known_values field_conditions
        check_query weights matcher walk_messages literal_sql match_tests index_lookups plan
        cancellation candidates in_sqlite""",
    ),
    _row(
        "hermes_store.search.on_postgres",
        "search on PostgreSQL: look-ups, tests on text, relevance",
        "text_tests lookups relevance vocabulary by_id by_time matcher",
    ),
    _row(
        "hermes_store.search",
        "running a search on either engine: pages, groups, titles, ranking, relaxation",
        """run_plan hits titles grouping ranking relaxation result_page
        sessiondb_search api""",
    ),
    _row(
        "hermes_store.search.recall",
        "what earlier conversations say about a question",
        "question excerpt conversations recall api",
    ),
    _row(
        "hermes_store.browse",
        "lists: order, rows, headings, hidden; transcripts, finding in one, recaps",
        "activity_order recent_sessions rows order transcript find_in_conversation recap api",
    ),
    _row(
        "hermes_store.marks",
        "pins, tags, archive, saved searches, search history",
        "marks saved_searches",
    ),
    _row(
        "hermes_store.trash",
        "deleting, the states of a copy in the trash, restoring, purging",
        """delete_from_database session_copy put_back sidecar_tables trashed_conversations purge
        copy_states move_to_trash restore api""",
    ),
    _row(
        "hermes_store.transfer",
        "export and import, one module for each format",
        """secret_forms personal_data redact readable_export export_jsonl export_markdown
        export_html output_file export parse_import write_imported_session import_file
        stored_forms same_session push pull api""",
    ),
    _row(
        "hermes_store.gateway",
        "bots: session keys, reset policies, routing, transcript files",
        """message_source whatsapp_aliases session_keys reset_policy file_lock routing_file
        routing_table before_reset open_sessions title_command transcript_files
        transcript_repair caretaker router""",
    ),
    _row(
        "hermes_store.upkeep",
        "prune, statistics, insights, optimize, doctor, repair",
        """statistics insights figures prune_filter prune_plan prune_by_age optimize auto_prune
        odd_values configured doctor doctor_server repair api""",
    ),
    _row("hermes_store", "`Store` holds the parts", "store"),
    _row(
        "hermes_store.hermes_state",
        "the names of Hermes Agent: its module, its errors, its tool session_search, more methods",
        """sqlite3_errors session_search holds_store token_counts deleting handoff telegram_topics
        self_repair""",
    ),
    _row("hermes_store", "`SessionDB` translates Hermes Agent's names", "sessiondb"),
    _row(
        "hermes_tui.opening",
        "how the browser opens: what is asked for, what is remembered, the first rows",
        "kept_state start_options first_list_rows",
    ),
    _row(
        "hermes_tui",
        "every action with its keys, and where a crash is written",
        "actions crash_log",
    ),
    _row(
        "hermes_tui.presentation",
        "records to text, styled lines and file names, for the command line and the screens",
        """fit_text styled_line numbers times charts themes lineage_lines without_markdown rows
        session_details browser_header empty_list search_results wrap_text diffs tool_lines
        code_colours markdown laid_out call_lines messages export_target""",
    ),
    _row(
        "hermes_tui.widgets",
        "widgets that know nothing of sessions",
        """lru_cache clipboard outside_program notice text_field plain_text heights status_bar
        checkboxes push_button line_view virtual_list""",
    ),
    _row(
        "hermes_tui",
        "the way from screens to the store; private parts of Textual",
        "store_access textual_private",
    ),
    _row(
        "hermes_tui.transcript",
        "a whole conversation to read",
        "turns layout parts selecting message_view view",
    ),
    _row(
        "hermes_tui.dialogs",
        "rename, delete, prune, export, trash, settings, help and more",
        """base delete export help hidden_kinds palette progress prune rename saved_searches
        settings tags trash""",
    ),
    _row(
        "hermes_tui.figures",
        "a year of days, week on week, tokens and costs",
        "heat_map page screen",
    ),
    _row(
        "hermes_tui.browse",
        "the main screen: search, list and reading pane",
        """found completion completion_list search_chips search_field search_pane
        session_list_widget lineage_tree list_options list_loading list_pane find_bar
        read_conversation transcript_page reading_place open_outside reading_pane panes resuming
        undo_stack change_jobs change_conversations key_hints action_after_search screen""",
    ),
    _row(
        "hermes_tui.chat",
        "the chat: screen, turn loop, provider, slash commands, titles, summaries",
        """streamed_reply errors endpoint_settings error_translation provider slash_syntax
        summaries auto_title turn_loop conversation_queue slash_commands key_hints slash_menu
        input_field conversation_pane answer_under_way drafts draft_keeper header note_box spinner
        screen""",
    ),
    _row(
        "hermes_tui.demo",
        "the demo's hand-written conversations and its scripted model",
        """answers model_server scripted_model conversation_file tool_blocks timeline token_costs
        sample""",
    ),
    _row("hermes_tui", "the application", "app"),
    _row(
        "hermes_tui.cli.common",
        "what verbs share: printing, progress, finding the agent, opening a screen",
        """output arguments progress context number_options ages workspace_option source_option
        search_options filter_options last_list hermes_agent mark_options recap_panel
        builtin_chat open_screen farewell""",
    ),
    _row(
        "hermes_tui.cli",
        "one module for each verb, named as the verb",
        """auto_prune prune archive config delete doctor repair export import_ insights list
        optimize pin pinned recall rename search show stats tag trash restore tree unarchive
        unpin untag push pull postgres chat resume browse verb_table completions main""",
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
