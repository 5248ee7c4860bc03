"""`hermes sessions list`: recent conversations as a plain table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_store.config import paths
from hermes_store.errors import DatabaseMissing, InvalidInput, NotFound, StoreError
from hermes_store.records.listing import Hidden, ListRow, Sort, View
from hermes_store.records.sources import describe as source_names
from hermes_store.records.workspace import short_name
from hermes_tui.cli.common import last_list, source_option, workspace_option
from hermes_tui.cli.common.arguments import meant
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import Column, complain, dim, width
from hermes_tui.presentation.fit_text import first_words, plain
from hermes_tui.presentation.numbers import plural, short_number
from hermes_tui.presentation.times import age

if TYPE_CHECKING:
    from hermes_store.store import Store

NOTHING = "No conversations yet."
NO_MATCH = "Nothing matches."
DEFAULT_LIMIT = 20
SHOWN = frozenset({Hidden.CRON, Hidden.EMPTY})
"""What this list shows and the browser hides at first."""
SEARCH_SECONDS = 30.0
NARROW, WIDE = 60, 100
"""Below the first, a terminal has no room for ids; from the second on, it has for everything."""


@dataclass(frozen=True, slots=True)
class Page:
    """The rows to print."""

    rows: list[tuple[str, ListRow]]
    """Each with its profile."""
    total: int | None
    """How many there are in all; None if there are more, and counting them takes long."""


def describe(parser: argparse.ArgumentParser) -> None:
    which = parser.add_argument_group("which conversations")
    source_option.add(which, "list")
    workspace_option.add(which, "list")
    which.add_argument("--tag", action="append", help="list only those with this tag")
    which.add_argument("--query", metavar="TEXT", help="list only what this search finds")
    which.add_argument("--archived", action="store_true", help="include archived conversations")
    parser.add_argument(
        "--sort", choices=[each.value for each in Sort], default=Sort.ACTIVITY.value,
        help="order of the list (default: activity)",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=int, metavar="N", help=f"how many (default: {DEFAULT_LIMIT}, 0 for all)"
    )
    parser.add_argument("--all", action="store_true", help="list all; the same as --limit 0")
    parser.add_argument("--no-header", action="store_true", help="print only the rows")
    parser.add_argument("--all-profiles", action="store_true", help="list all profiles")
    parser.epilog = (
        "examples:\n  hermes sessions list --source telegram --limit 50\n"
        "  hermes sessions list --sort cost --tag work\n"
        "  hermes sessions list --query 'docker after:7d'\n"
        "  hermes sessions list --json | jq -r '.sessions[].id'"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    check_number("--limit", options.limit, least=0)
    if options.all and options.limit:
        raise InvalidInput("Give --all or --limit, not both.")
    limit = DEFAULT_LIMIT if options.limit is None and not options.all else options.limit or None
    places = profile_contexts(context) if options.all_profiles else [("", context)]
    pages = list(_pages(options, limit, places))
    page = pages[0] if len(pages) == 1 else _merged(pages, Sort(options.sort), limit)
    if context.printer.as_json:
        _print_json(context, page, profiles=options.all_profiles)
    elif page.rows:
        numbered = context.printer.is_terminal and not options.all_profiles
        if numbered:
            last_list.keep(context.database, [row.tip_id for _, row in page.rows])
        _print(options, context, page, numbered=numbered)
    else:
        filtered = options.source or options.workspace or options.tag or options.query
        context.printer.line(NO_MATCH if filtered else NOTHING)
    if options.limit is None or context.printer.is_terminal:
        _say_if_cut(page)
    return 0


def _say_if_cut(page: Page) -> None:
    shown = len(page.rows)
    if page.total is None:
        complain(f"{plural(shown, 'conversation')} shown; there are more. --all shows all.")
    elif page.total > shown:
        complain(f"{shown:,} of {page.total:,} conversations; --all shows all.")


# -- rows ----------------------------------------------------------------------------------------


def _pages(
    options: argparse.Namespace, limit: int | None, places: Iterable[tuple[str, Context]]
) -> Iterator[Page]:
    """Yield the page of each profile; a source or tag that only some have is fine."""
    refused: StoreError | None = None
    found = False
    for profile, place in places:
        try:
            page = _page(options, limit, place, profile)
        except (InvalidInput, NotFound) as error:
            refused = refused or error
            continue
        found = True
        yield page
    if refused is not None and not found:
        raise refused


def _page(options: argparse.Namespace, limit: int | None, context: Context, profile: str) -> Page:
    try:
        with context.store() as store:
            wanted = _wanted(options, context, store)
            view = View(
                source=source_option.chosen(store, options.source),
                workspace=options.workspace,
                shown=SHOWN | {Hidden.ARCHIVED, Hidden.HIDDEN} if options.archived else SHOWN,
                sort=Sort(options.sort),
            )
            ids, total = _ids(store, view, wanted, limit, context.now)
            rows = store.lists.rows(ids, now=context.now)
            return Page([(profile, row) for row in rows], total)
    except DatabaseMissing:
        return Page([], 0)


def _ids(
    store: Store, view: View, wanted: set[str] | None, limit: int | None, now: float
) -> tuple[list[str], int | None]:
    """Return the first ids of a list, and how many there are."""
    if limit is None or wanted is not None:
        entries = (each for each in store.lists.entries(view, now=now) if isinstance(each, str))
        listed = [each for each in entries if wanted is None or each in wanted]
        return listed[:limit], len(listed)
    found = store.lists.entries(replace(view, limit=limit + 1), now=now)
    ids = [each for each in found if isinstance(each, str)]
    if len(ids) <= limit:
        return ids, len(ids)
    # In a file without an order of its own, only the first rows are quick to find.
    counted = store.lists.number_of(view) if store.capabilities().activity else None
    return ids[:limit], counted


def _wanted(options: argparse.Namespace, context: Context, store: Store) -> set[str] | None:
    """Return the sessions that the tags and the search choose; None for all."""
    wanted: set[str] | None = None
    if options.tag:
        wanted = set().union(*(_tagged(store, tag) for tag in options.tag))
    if options.query is not None:
        found = _found(options.query, context, store)
        wanted = found if wanted is None else wanted & found
    return wanted


def _tagged(store: Store, tag: str) -> frozenset[str]:
    found = store.marks.tagged(tag)
    if not found:
        hint = meant(tag, (name for name, _ in store.marks.tags()))
        raise NotFound(f"No conversation has the tag '{tag}'.{hint}")
    return found


def _found(text: str, context: Context, store: Store) -> set[str]:
    """Return the first sessions of all conversations that a search finds."""
    from hermes_store.records.search import Request
    from hermes_tui.cli.common import search_options

    request = Request(
        text,
        grouped=True,
        limit=-1,
        relax=False,
        count=False,
        seconds=SEARCH_SECONDS,
        now=context.now,
    )
    search_options.check(store, request)
    result = store.search.run(request)
    for note in dict.fromkeys(each.message for each in result.diagnostics):
        complain(note)
    if result.partial:
        complain("The time was up before everything was searched; some may be missing.")
    return {group.root_id for group in result.groups}


def profile_contexts(context: Context) -> Iterator[tuple[str, Context]]:
    """Yield every profile that has a database, the default profile first."""
    for name in ("default", *paths.profiles(context.home)):
        home = paths.profile_home(name, context.home)
        database: Path = paths.database_path(home)
        if database.exists():
            yield name, replace(context, home=home, database=database)


def _merged(pages: Sequence[Page], sort: Sort, limit: int | None) -> Page:
    rows = sorted(
        (row for page in pages for row in page.rows), key=lambda each: _key(each[1], sort)
    )
    totals = [page.total for page in pages]
    total = None if None in totals else sum(each or 0 for each in totals)
    return Page(list(islice(rows, limit)), total)


def _key(row: ListRow, sort: Sort) -> tuple[Any, ...]:
    match sort:
        case Sort.STARTED:
            return (-row.started_at,)
        case Sort.MESSAGES:
            return -row.message_count, -row.last_active
        case Sort.TITLE:
            return row.title is None, (row.title or "").lower(), -row.last_active
        case Sort.COST:
            return -row.cost, -row.last_active
        case Sort.TOKENS:
            return -row.tokens, -row.last_active
        case _:
            return (-row.last_active,)


# -- output --------------------------------------------------------------------------------------


def _print_json(context: Context, page: Page, *, profiles: bool) -> None:
    listed = [
        ({"profile": profile} if profiles else {}) | _as_data(row) for profile, row in page.rows
    ]
    context.printer.data("sessions", total=page.total, sessions=listed)


def _as_data(row: ListRow) -> dict[str, Any]:
    return {
        "id": row.tip_id,
        "title": row.title,
        "preview": row.preview,
        "source": row.source,
        "model": row.model,
        "started_at": row.started_at,
        "last_active": row.last_active,
        "ended_at": row.ended_at,
        "end_reason": row.end_reason,
        "message_count": row.message_count,
        "tool_call_count": row.tool_calls,
        "tokens": row.tokens,
        "cost_usd": row.cost,
        "tags": list(row.tags),
        "cwd": row.place.cwd,
        "git_repo_root": row.place.git_repo_root,
        "git_branch": row.place.git_branch,
        "workspace": row.place.workspace,
        **({"host": row.host} if row.host else {}),
    } | ({"root_id": row.id} if row.tip_id != row.id else {})


def _print(options: argparse.Namespace, context: Context, page: Page, *, numbered: bool) -> None:
    rows = [row for _, row in page.rows]
    sort = Sort(options.sort)
    columns: list[tuple[Column, list[str]]] = []
    if options.all_profiles:
        columns.append((Column("Profile", 12), [profile for profile, _ in page.rows]))
    elif numbered:
        numbers = [str(number) for number in range(1, len(rows) + 1)]
        columns.append((Column("#", 5, right=True), numbers))
    columns.append(
        (Column("Title", 200), [row.title or first_words(row.preview) or "—" for row in rows])
    )
    roomy, wide = width() >= NARROW, width() >= WIDE
    if roomy and any(row.host is not None for row in rows):
        columns.append((Column("Host", 12), [plain(row.host or "—") for row in rows]))
    if wide and any(row.place.workspace is not None for row in rows):
        columns.append((Column("Workspace", 18), [_workspace(row) for row in rows]))
    if roomy:
        labels = [source_names(row.source).label for row in rows]
        columns.append((Column("Source", 14 if wide else 10), labels))
    if wide or sort in _FIGURES:
        heading, figure = _FIGURES.get(sort, _FIGURES[Sort.MESSAGES])
        columns.append((Column(heading, 9, right=True), [figure(row) for row in rows]))
    if roomy or numbered:
        columns.append((Column("Active", 11), [_when(row, context.now, sort) for row in rows]))
    if roomy or not numbered:
        columns.append((Column("ID", 0), [row.tip_id for row in rows]))
    lines = zip(*(cells for _, cells in columns), strict=True)
    context.printer.table([each for each, _ in columns], lines, heading=not options.no_header)
    if numbered and not options.no_header:
        context.printer.say("hermes -r NUMBER resumes one of them.", dim)


_FIGURES: dict[Sort, tuple[str, Callable[[ListRow], str]]] = {
    Sort.MESSAGES: ("Messages", lambda row: f"{row.message_count:,}"),
    Sort.COST: ("Cost", lambda row: f"${row.cost:,.2f}"),
    Sort.TOKENS: ("Tokens", lambda row: short_number(row.tokens)),
}
"""The figure that a row shows: the one by which the list is sorted, or else its messages."""


def _when(row: ListRow, now: float, sort: Sort) -> str:
    return age(row.started_at if sort is Sort.STARTED else row.last_active, now, dates=True)


def _workspace(row: ListRow) -> str:
    workspace = row.place.workspace
    return "—" if workspace is None else plain(short_name(workspace))
