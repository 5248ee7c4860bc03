"""Changes to conversations: rename, delete, undo, prune, export, marks, trash.

A dialog says what a change would do; it runs in a thread with its own writer and is reported in
one sentence that also says how to undo it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from hermes_store.records.trash import Deleted, RestoreReport
from hermes_store.store import Store
from hermes_tui.browse.session_list_widget import SessionList, Target
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.start_options import Opening
from hermes_tui.store_access import READ_ONLY, Access, Answer, Failed
from hermes_tui.widgets import clipboard
from hermes_tui.widgets.notice import Notice

# Dialogs are loaded when they open, so that the first rows do not wait for them.
if TYPE_CHECKING:
    from hermes_store.records.prune import PrunePlan
    from hermes_tui.dialogs.delete import Delete
    from hermes_tui.dialogs.export import Export
    from hermes_tui.dialogs.progress import Work
    from hermes_tui.dialogs.rename import Rename
    from hermes_tui.dialogs.saved_searches import Forget, Keep, Use
    from hermes_tui.dialogs.trash import Purge, Restore


MOVED_SO_FAR = "What was moved to trash before that stays there."
"""What stopping a deletion leaves behind."""
NO_FILE = "No file was created or replaced."
"""What stopping an export leaves behind."""


class Changes(Widget):
    """Makes changes to conversations. Not visible."""

    DEFAULT_CSS = "Changes { display: none; }"

    @dataclass
    class Done(Message):
        """A change was made; the list needs a refresh."""

        text: str

    @dataclass
    class SearchChosen(Message):
        """A saved search should run."""

        text: str

    class Changed(Answer[str]):
        """A change was made, described in a sentence."""

    class Finished(Answer[str]):
        """Something was done that the list does not show, described in a sentence."""

    def __init__(self, access: Access, opening: Opening, undo_key: Callable[[], str]) -> None:
        """`undo_key` returns the key that undoes a deletion, for display."""
        super().__init__()
        self.access = access
        self._undo_key = undo_key
        self._clock = opening.clock
        self._sessions_dir = opening.sessions_dir

    def named(self, what: str) -> Callable[[SessionList], None]:
        """Return the change that an action names."""
        return {
            "rename": self.rename,
            "delete": self.delete,
            "export": self.export,
            "pin": self.pin,
            "archive": self.archive,
            "tag": self.tag,
            "copy_id": self.copy_id,
            "copy_command": self.copy_command,
        }[what]

    def _change(self, job: Callable[[Store], str]) -> None:
        self.access.change(self, self.Changed, lambda store, _: job(store))

    def on_changes_changed(self, event: Changed) -> None:
        event.stop()
        self.post_message(self.Done(event.value))

    def on_changes_finished(self, event: Finished) -> None:
        event.stop()
        self.post_message(Notice(event.value))

    def on_failed(self, event: Failed) -> None:
        """Report the failure and refresh the list: part of the change may have been made."""
        event.stop()
        self.post_message(Notice(str(event.error), error=True))
        self.post_message(self.Done(""))

    def _target(self, sessions: SessionList) -> Target | None:
        target = sessions.target()
        if target is None:
            self.post_message(Notice("There is no conversation under the cursor."))
        return target

    def _refuse_read_only(self) -> bool:
        if self.access.read_only:
            self.post_message(Notice(READ_ONLY))
        return self.access.read_only

    def _long(
        self,
        title: str,
        left_behind: str,
        job: Callable[[Store, Work], str],
        *,
        writing: bool = True,
    ) -> None:
        """Run a job that may take long; if it does, a dialog shows progress and can stop it.

        `left_behind` says what stopping it leaves behind.
        """
        from hermes_tui.dialogs.progress import DELAY, ProgressDialog, Work

        work = Work(title, left_behind)

        def run(store: Store) -> str:
            try:
                return job(store, work)
            finally:
                work.ended = True

        def show() -> None:
            if not work.ended:
                self.app.push_screen(ProgressDialog(work))

        if writing:
            self._change(run)
        else:
            self.access.ask(self, self.Finished, lambda store, _: run(store), exclusive=False)
        self.set_timer(DELAY, show)

    # -- rename ----------------------------------------------------------------------------

    def rename(self, sessions: SessionList) -> None:
        """Rename the current session, or the newest one of a conversation."""
        from hermes_tui.dialogs.rename import RenameDialog

        target = self._target(sessions)
        if target is None or self._refuse_read_only():
            return
        title = target.row.title if target.row is not None and not target.part else None
        self.app.push_screen(RenameDialog(self.access, target.resumed_id, title), self._rename)

    def _rename(self, wanted: Rename | None) -> None:
        def rename(store: Store) -> str:
            assert wanted is not None
            title = store.sessions.rename(wanted.session_id, wanted.title)
            return f"Renamed to “{title}”." if title else "Title removed."

        if wanted is not None:
            self._change(rename)

    # -- delete and undo -------------------------------------------------------------------

    def delete(self, sessions: SessionList) -> None:
        """Move the current conversation, or all selected ones, to trash."""
        from hermes_tui.dialogs.delete import DeleteDialog

        target = self._target(sessions)
        if target is None or self._refuse_read_only():
            return
        roots = sessions.chosen(target)
        rows = [(root, sessions.row(root)) for root in roots]
        names = [plain(row.title or row.preview or root if row else root) for root, row in rows]
        part = target.session_id if target.part and not sessions.selected else None
        dialog = DeleteDialog(self.access, roots, names, self._clock(), part=part)
        self.app.push_screen(dialog, self._delete)

    def _delete(self, wanted: Delete | None) -> None:
        if wanted is None:
            return
        folder = self._sessions_dir
        self._long(
            "Deleting",
            MOVED_SO_FAR,
            lambda store, work: self._deleted(
                store.trash.delete(wanted.session_ids, folder, progress=work.progress),
                wanted.conversations,
            ),
        )

    def _deleted(self, gone: Deleted, conversations: int) -> str:
        what = f"{plural(conversations, 'conversation')}, {plural(gone.messages, 'message')}"
        return f"{what} moved to trash. {self._undo_key()} undoes this."

    def undo(self) -> None:
        """Restore the last deletion."""
        if not self._refuse_read_only():
            self._change(lambda store: _restored(store.trash.restore()))

    # -- prune and trash -------------------------------------------------------------------

    def prune(self, here: str | None = None) -> None:
        """Open the prune dialog, for one workspace if only that one is shown."""
        from hermes_tui.dialogs.prune import PruneDialog

        if not self._refuse_read_only():
            where = "" if here is None else f'workspace:"{here}"'
            self.app.push_screen(PruneDialog(self.access, self._clock(), where), self._prune)

    def _prune(self, plan: PrunePlan | None) -> None:
        if plan is None:
            return
        folder = self._sessions_dir
        self._long(
            "Pruning",
            MOVED_SO_FAR,
            lambda store, work: self._deleted(
                store.upkeep.prune(plan, folder, progress=work.progress), plan.conversations
            ),
        )

    def trash(self) -> None:
        """Open the trash."""
        from hermes_tui.dialogs.trash import TrashDialog

        self.app.push_screen(TrashDialog(self.access, self._clock()), self._trash)

    def _trash(self, wanted: Restore | Purge | None) -> None:
        from hermes_tui.dialogs.trash import Restore

        if wanted is None or self._refuse_read_only():
            return
        batch = wanted.batch_id
        if isinstance(wanted, Restore):
            self._change(lambda store: _restored(store.trash.restore(batch)))
        else:
            self._change(lambda store: _purged(store, batch))

    # -- export ----------------------------------------------------------------------------

    def export(self, sessions: SessionList) -> None:
        """Export conversations to a file."""
        from hermes_tui.dialogs.export import ExportDialog

        target = self._target(sessions)
        if target is not None:
            listed = [entry for entry in sessions.listed() if isinstance(entry, str)]
            dialog = ExportDialog(
                target.root_id, [*sessions.selected], listed, self.access.database
            )
            self.app.push_screen(dialog, self._export)

    def _export(self, wanted: Export | None) -> None:
        if wanted is None:
            return

        def write(store: Store, work: Work) -> str:
            members: dict[str, None] = {}
            for root in wanted.roots:
                members.update(dict.fromkeys(store.lineage.members(root)))
            number = store.transfer.export_file(
                wanted.path, wanted.fmt, list(members), wanted.redact, work.counted
            )
            return f"{plural(number, 'session')} exported to {wanted.path}."

        self._long("Exporting", NO_FILE, write, writing=False)

    # -- marks -----------------------------------------------------------------------------

    def _mark(
        self, roots: Sequence[str], sentence: str, change: Callable[[Store, str], object]
    ) -> None:
        def apply(store: Store) -> str:
            for root in roots:
                change(store, root)
            return sentence

        if not self._refuse_read_only():
            self._change(apply)

    def pin(self, sessions: SessionList) -> None:
        """Pin, or unpin if the current conversation is pinned."""
        target = self._target(sessions)
        if target is None:
            return
        roots = sessions.chosen(target)
        if target.row is not None and target.row.pinned:
            self._mark(roots, "Unpinned.", lambda store, root: store.marks.unpin(root))
        else:
            self._mark(roots, "Pinned.", lambda store, root: store.marks.pin(root))

    def archive(self, sessions: SessionList) -> None:
        """Archive, or unarchive if the current conversation is archived."""
        target = self._target(sessions)
        if target is None:
            return
        roots = sessions.chosen(target)
        if target.row is not None and target.row.archived:
            self._mark(roots, "Unarchived.", lambda store, root: store.marks.unarchive(root))
        else:
            self._mark(
                roots, "Archived. h shows it.", lambda store, root: store.marks.archive(root)
            )

    def tag(self, sessions: SessionList) -> None:
        """Ask for the tags, and replace the old ones."""
        from hermes_tui.dialogs.base import Ask

        target = self._target(sessions)
        if target is None or self._refuse_read_only():
            return
        tags = " ".join(target.row.tags) if target.row is not None else ""
        hint = "Separate tags with spaces. Leave empty to remove all tags."
        roots = sessions.chosen(target)
        self.app.push_screen(Ask("Tags", tags, "Save", hint), lambda text: self._tag(roots, text))

    def _tag(self, roots: Sequence[str], text: str | None) -> None:
        if text is None:
            return
        tags = text.replace(",", " ").replace("#", " ").split()

        def change(store: Store, root: str) -> None:
            store.marks.untag(root)
            if tags:
                store.marks.tag(root, *tags)

        self._mark(roots, "Tagged." if tags else "Tags removed.", change)

    # -- copying ---------------------------------------------------------------------------

    def copy(self, text: str, what: str) -> None:
        """Copy text through the terminal and with a system tool."""
        self.app.copy_to_clipboard(text)
        self.run_worker(lambda: clipboard.copy_with_tool(text), thread=True, group="copy")
        self.post_message(Notice(f"Copied {what}."))

    def copy_id(self, sessions: SessionList) -> None:
        """Copy the id of the current session."""
        target = self._target(sessions)
        if target is not None:
            self.copy(target.resumed_id, target.resumed_id)

    def copy_command(self, sessions: SessionList) -> None:
        """Copy the command that resumes the current session."""
        target = self._target(sessions)
        if target is not None:
            command = f"hermes --resume {target.resumed_id}"
            self.copy(command, command)

    # -- saved searches --------------------------------------------------------------------

    def saved_searches(self, text: str) -> None:
        """Open the saved searches; `text` is the search that can be saved."""
        from hermes_tui.dialogs.saved_searches import SavedDialog

        self.app.push_screen(SavedDialog(self.access, text), self._saved)

    def _saved(self, wanted: Use | Keep | Forget | None) -> None:
        from hermes_tui.dialogs.saved_searches import Keep, Use

        if wanted is None:
            return
        if isinstance(wanted, Use):
            self.post_message(self.SearchChosen(wanted.text))
        elif not self._refuse_read_only():

            def change(store: Store) -> str:
                if isinstance(wanted, Keep):
                    name = store.saved_searches.save(wanted.name, wanted.text).name
                    return f"Search saved as “{name}”."
                store.saved_searches.forget(wanted.name)
                return f"Saved search “{wanted.name}” removed."

            self.access.change(self, self.Finished, lambda store, _: change(store))


def _restored(report: RestoreReport) -> str:
    count = plural(len(report.session_ids), "session")
    notes = [remark.text for remark in (*report.remarks, *report.skipped)][:2]
    return " ".join([f"{count}, {plural(report.messages, 'message')} restored.", *notes])


def _purged(store: Store, batch_id: int | None) -> str:
    gone = store.trash.empty(batch_id=batch_id)
    left = "" if gone.left is None else f" {gone.left}"
    return f"{plural(gone.sessions, 'session')} permanently deleted, {byte_size(gone.bytes)}.{left}"
