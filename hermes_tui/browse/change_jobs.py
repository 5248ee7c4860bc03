"""What each change does in the store, and what takes it back.

These run in a thread with a writer. Each returns an outcome: what happened, and its undo.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.errors import NotInTrash, SessionInUse, SessionNotFound, StoreError
from hermes_store.records.marks import TagChange
from hermes_store.records.safe_text import shorten
from hermes_store.records.trash import Deleted, RestoreReport, TrashedConversation
from hermes_store.store import Store
from hermes_tui.browse.session_list_widget import Below, SessionList, Target
from hermes_tui.browse.undo_stack import Outcome
from hermes_tui.presentation.fit_text import first_words, plain
from hermes_tui.presentation.numbers import byte_size, plural

if TYPE_CHECKING:
    from hermes_store.records.prune import PrunePlan
    from hermes_tui.dialogs.export import Export
    from hermes_tui.dialogs.progress import Work

Job = Callable[[Store], Outcome]
IN_TRASH = "moved to trash"
NAME_LENGTH = 32


def conversations(number: int) -> str:
    """Return "1 conversation" or "3 conversations"."""
    return plural(number, "conversation")


def name(sessions: SessionList, root: str) -> str:
    """Return the title of a conversation, its first words or its id."""
    row = sessions.row(root)
    if row is None:
        return plain(root)
    return plain(row.title or first_words(row.preview) or root)


def title(sessions: SessionList, target: Target) -> str | None:
    """Return the title of what is to be renamed: a conversation, or a session below one."""
    item = sessions.item(sessions.cursor)
    if isinstance(item, Below):
        return item.branch.session.title
    return target.row.title if target.row is not None else None


def name_of(sessions: SessionList, roots: Sequence[str]) -> str:
    """Return what a sentence calls some conversations: its name, or how many."""
    if len(roots) == 1:
        return f"“{shorten(name(sessions, roots[0]), NAME_LENGTH)}”"
    return conversations(len(roots))


# -- titles ------------------------------------------------------------------------------------


def rename(store: Store, session_id: str, title: str | None) -> Outcome:
    """Rename a session."""
    renamed = store.sessions.change_title(session_id, title)
    before = renamed.before[0].title
    if before == renamed.title:
        return Outcome("The title is the same.")

    def undo(store: Store) -> Outcome:
        store.sessions.undo_rename(renamed)
        return Outcome(f"the title is “{plain(before)}” again" if before else "no title again")

    said = f"Renamed to “{plain(renamed.title)}”" if renamed.title else "Title removed"
    return Outcome(said, undo)


# -- deleting and restoring --------------------------------------------------------------------


def delete_conversation(
    store: Store, root: str, name: str, folder: Path | None, now: float, work: Work
) -> Outcome:
    """Move a whole conversation to trash, unless it is in use."""
    members = store.lineage.members(root)
    _refuse_in_use(store, members, name, now)
    return delete(store, members, (root,), name, folder, work)


def _refuse_in_use(store: Store, session_ids: Sequence[str], name: str, now: float) -> None:
    reason = store.trash.weigh(session_ids, now=now).in_use
    if reason is not None:
        raise SessionInUse(f"{name} is in use and was not deleted. {reason}")


def delete(
    store: Store,
    session_ids: Sequence[str],
    roots: tuple[str, ...],
    name: str,
    folder: Path | None,
    work: Work,
) -> Outcome:
    """Move sessions to trash; `roots` are the conversations that go as a whole, if any."""
    from hermes_tui.dialogs.progress import GivenUp

    try:
        gone = store.trash.delete(session_ids, folder, progress=work.progress)
    except GivenUp as stopped:
        return _given_up(store, stopped, session_ids)
    return _deleted(gone, roots or gone.session_ids, name)


def prune(store: Store, plan: PrunePlan, folder: Path | None, work: Work) -> Outcome:
    """Move what was planned to trash."""
    from hermes_tui.dialogs.progress import GivenUp

    try:
        gone = store.upkeep.prune(plan, folder, progress=work.progress)
    except GivenUp as stopped:
        return _given_up(store, stopped, plan.session_ids)
    there = set(gone.session_ids)
    roots = tuple(row.root_id for row in plan.rows if there.issuperset(row.session_ids))
    return _deleted(gone, roots, conversations(len(roots)))


def _deleted(gone: Deleted, roots: tuple[str, ...], name: str) -> Outcome:
    if not gone.session_ids:
        return Outcome("Nothing was moved to trash; it is in use or already gone.")
    return Outcome(f"{name} {IN_TRASH}", _undo_delete(gone.session_ids, name), gone=roots)


def _given_up(store: Store, stopped: StoreError, session_ids: Sequence[str]) -> Outcome:
    """Say that a deletion was stopped; what it had moved by then can come back."""
    batches, wanted = store.trash.list()[:1], set(session_ids)
    moved = [each for batch in batches for each in batch.session_ids if each in wanted]
    undo = _undo_delete(moved, plural(len(moved), "session")) if moved else None
    return Outcome(str(stopped), undo)


def _undo_delete(session_ids: Sequence[str], name: str) -> Callable[[Store], Outcome]:
    # By session, not by batch: what was restored and deleted again is in another one.
    def undo(store: Store) -> Outcome:
        try:
            report = store.trash.restore_sessions(session_ids)
        except NotInTrash:
            raise StoreError(f"{name} is no longer in the trash.") from None
        if not report.session_ids:
            raise StoreError(_with_notes("Nothing was restored", report))
        return Outcome(_with_notes(f"{name} restored", report))

    return undo


def restore(store: Store, wanted: Sequence[TrashedConversation], folder: Path | None) -> Outcome:
    """Restore conversations of one deletion."""
    ids = [each for conversation in wanted for each in conversation.session_ids]
    report = store.trash.restore_sessions(ids, batch_id=wanted[0].batch_id)
    if not report.session_ids:
        return Outcome(_with_notes("Nothing was restored", report))
    there = set(report.session_ids)
    back = [each for each in wanted if not there.isdisjoint(each.session_ids)]
    name = f"“{plain(back[0].name)}”" if len(back) == 1 else conversations(len(back))

    def undo(store: Store) -> Outcome:
        _refuse_in_use(store, report.session_ids, name, time.time())
        gone = store.trash.delete(report.session_ids, folder)
        roots = tuple(each.session_ids[0] for each in back)
        return Outcome(f"{name} {IN_TRASH} again", gone=roots if gone.session_ids else ())

    return Outcome(_with_notes(f"Restored {name}", report), undo)


def _with_notes(sentence: str, report: RestoreReport) -> str:
    notes = [plain(remark.text) for remark in (*report.remarks, *report.skipped)][:2]
    return ". ".join([sentence, " ".join(notes).removesuffix(".")]) if notes else sentence


def purge(store: Store, conversation: TrashedConversation | None) -> Outcome:
    """Delete one conversation in the trash permanently, or all."""
    if conversation is None:
        gone = store.trash.empty()
    else:
        gone = store.trash.empty(
            batch_id=conversation.batch_id, session_ids=conversation.session_ids
        )
    left = "" if gone.left is None else f" {gone.left}"
    what = plural(gone.sessions, "session")
    return Outcome(f"Permanently deleted {what}, {byte_size(gone.bytes)}.{left}")


# -- exporting ---------------------------------------------------------------------------------


def export(store: Store, wanted: Export, work: Work) -> str:
    """Export conversations to a file; changes nothing in the store."""
    members: dict[str, None] = {}
    for root in wanted.roots:
        members.update(dict.fromkeys(store.lineage.members(root)))
    number = store.transfer.export_file(
        wanted.path, wanted.fmt, list(members), wanted.redact, work.counted
    )
    return f"{plural(number, 'session')} exported to {wanted.path}."


# -- marks -------------------------------------------------------------------------------------


def pin(store: Store, roots: Sequence[str], name: str) -> Outcome:
    """Pin conversations, or unpin them if all are pinned."""
    on = not all(marks.pinned for marks in store.marks.of(roots).values())
    changed = (store.marks.pin if on else store.marks.unpin)(*roots)

    def undo(store: Store) -> Outcome:
        there = _still_there(store, changed)
        (store.marks.unpin if on else store.marks.pin)(*there)
        return Outcome(f"{name} {'unpinned' if on else 'pinned'} again")

    return Outcome(f"{'Pinned' if on else 'Unpinned'} {name}", undo)


def archive(store: Store, roots: Sequence[str], name: str) -> Outcome:
    """Archive conversations, or unarchive them if all are archived."""
    on = not all(marks.archived for marks in store.marks.of(roots).values())
    changed = (store.marks.archive if on else store.marks.unarchive)(*roots)

    def undo(store: Store) -> Outcome:
        there = _still_there(store, changed)
        (store.marks.unarchive if on else store.marks.archive)(*there)
        return Outcome(f"{name} {'unarchived' if on else 'archived'} again")

    hidden = tuple(roots) if on else ()
    return Outcome(f"{'Archived' if on else 'Unarchived'} {name}", undo, archived=hidden)


def retag(store: Store, roots: Sequence[str], change: TagChange, name: str) -> Outcome:
    """Add tags to conversations and remove others from them."""
    done = store.marks.retag(dict.fromkeys(roots, change))
    if not done:
        return Outcome("No tags changed.")

    def undo(store: Store) -> Outcome:
        there = _still_there(store, tuple(done))
        store.marks.retag({each: done[each].reversed for each in there})
        return Outcome(f"tags of {name} as before")

    added = " ".join(f"#{tag}" for tag in change.added)
    removed = " ".join(f"#{tag}" for tag in change.removed)
    said = f"Changed the tags of {name}"
    if not removed:
        said = f"Added {added} to {name}"
    elif not added:
        said = f"Removed {removed} from {name}"
    return Outcome(said, undo)


def _still_there(store: Store, roots: Sequence[str]) -> list[str]:
    """Return the conversations that exist; an error if none does."""
    there = []
    for root in roots:
        try:
            there.append(store.sessions.get(root).id)
        except SessionNotFound:
            continue
    if roots and not there:
        raise SessionNotFound(roots[0])
    return there
