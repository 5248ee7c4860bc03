"""The changing part of the main screen: rename, delete, undo, prune, export, marks, trash.

Every change is asked for in a dialog that says what it would do, runs in a worker, and is
reported with the way back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from hermes_tui import actions
from hermes_tui.browse.reading_pane import PanePart
from hermes_tui.presentation.rows import safe
from hermes_tui.presentation.text import byte_size, plural

# Dialogs are loaded when they open: the first rows should not wait for them.
if TYPE_CHECKING:
    from hermes_store.errors import StoreError
    from hermes_store.records.listing import ListRow
    from hermes_store.records.prune import PrunePlan
    from hermes_store.records.trash import Deleted, Purged, RestoreReport
    from hermes_store.store import Store
    from hermes_tui.access import Stopped
    from hermes_tui.browse.session_list import Target
    from hermes_tui.dialogs.delete import Delete
    from hermes_tui.dialogs.export import Export
    from hermes_tui.dialogs.progress import Work
    from hermes_tui.dialogs.rename import Rename
    from hermes_tui.dialogs.saved_searches import Forget, Keep, Use
    from hermes_tui.dialogs.settings import Settings
    from hermes_tui.dialogs.trash import Purge, Restore
    from hermes_tui.transcript.view import Transcript


Answer = TypeVar("Answer")


class ChangePart(PanePart):
    """Changes what the list shows."""

    def _target(self, again: Callable[[], None]) -> Target | None:
        """Return what is marked; while that is about to change, act again afterwards."""
        if self.too_early(again):
            return None
        target = self.sessions.target()
        if target is None:
            self.say("Nothing is marked.")
        return target

    def _done(self, sentence: str) -> None:
        self.sessions.selected = {}
        self.say(sentence)
        self.refresh_list()
        self.search_again()
        self.follow()

    def _refuse_read_only(self) -> bool:
        if self.office.read_only:
            self.say("This browser was opened with --read-only, so nothing can be changed.")
        return self.office.read_only

    def _long(
        self,
        title: str,
        job: Callable[[Store, Work], Answer],
        then: Callable[[Answer], None],
        *,
        writing: bool = True,
    ) -> None:
        """Do something that may take long; then a dialog shows how far it is and can stop it."""
        from hermes_tui.dialogs.progress import DELAY, ProgressDialog, Work

        work = Work(title)

        def finish(answer: Answer) -> None:
            work.ended = True
            then(answer)

        def give_up(error: StoreError) -> None:
            work.ended = True
            self.failed(error)
            self.refresh_list()

        def show() -> None:
            if not work.ended:
                self.app.push_screen(ProgressDialog(work))

        if writing:
            self.office.change(self, lambda store, _: job(store, work), finish, give_up)
        else:
            self.office.ask(
                self, "export", lambda store, _: job(store, work), finish, give_up, exclusive=False
            )
        self.set_timer(DELAY, show)

    # -- rename ----------------------------------------------------------------------------

    def action_rename(self) -> None:
        """Rename the marked session."""
        from hermes_tui.dialogs.rename import RenameDialog

        target = self._target(self.action_rename)
        if target is None or self._refuse_read_only():
            return
        session_id = target.session_id
        if not target.part and target.row is not None:
            session_id = target.row.tip_id
        title = target.row.title if target.row is not None and not target.part else None
        self.app.push_screen(RenameDialog(self.office, session_id, title), self._rename)

    def _rename(self, wanted: Rename | None) -> None:
        if wanted is None:
            return
        self.change(
            lambda store, _: store.sessions.rename(wanted.session_id, wanted.title),
            lambda title: self._done(f"Renamed to “{title}”." if title else "The title is gone."),
        )

    # -- delete and undo -------------------------------------------------------------------

    def action_delete(self) -> None:
        """Delete the marked conversation, or all that are selected."""
        from hermes_tui.dialogs.delete import DeleteDialog

        target = self._target(self.action_delete)
        if target is None or self._refuse_read_only():
            return
        roots = list(self.sessions.selected) or [target.root_id]
        part = target.session_id if target.part and not self.sessions.selected else None
        dialog = DeleteDialog(
            self.office, roots, [self._called(each) for each in roots], self.clock(), part=part
        )
        self.app.push_screen(dialog, self._delete)

    def _called(self, root_id: str) -> str:
        row: ListRow | None = self.sessions.row(root_id)
        return safe(row.title or row.preview or root_id) if row is not None else safe(root_id)

    def _delete(self, wanted: Delete | None) -> None:
        if wanted is None:
            return
        folder = self.opening.sessions_dir
        self._long(
            "Deleting",
            lambda store, work: store.trash.delete(
                wanted.session_ids, folder, progress=work.progress
            ),
            lambda gone: self._deleted(gone, wanted.conversations),
        )

    def _deleted(self, gone: Deleted, conversations: int) -> None:
        what = plural(conversations, "conversation")
        messages = plural(gone.messages, "message")
        # The key that works everywhere: a letter would go into the search field.
        key = actions.key_for("undo-now", self.key_overrides)
        self._done(f"{what}, {messages} moved to the trash. {key} undoes it.")

    def action_undo(self) -> None:
        """Bring back what was deleted last."""
        if not self._refuse_read_only():
            self.change(lambda store, _: store.trash.restore(), self._restored)

    def _restored(self, report: RestoreReport) -> None:
        count = plural(len(report.session_ids), "session")
        notes = [remark.text for remark in (*report.remarks, *report.skipped)][:2]
        self._done(" ".join([f"{count}, {plural(report.messages, 'message')} came back.", *notes]))

    # -- prune and trash -------------------------------------------------------------------

    def action_prune(self) -> None:
        """Clean up old conversations."""
        from hermes_tui.dialogs.prune import PruneDialog

        if not self._refuse_read_only():
            self.app.push_screen(PruneDialog(self.office, self.clock()), self._prune)

    def _prune(self, plan: PrunePlan | None) -> None:
        if plan is None:
            return
        folder = self.opening.sessions_dir
        self._long(
            "Cleaning up",
            lambda store, work: store.upkeep.prune(plan, folder, progress=work.progress),
            lambda gone: self._deleted(gone, plan.conversations),
        )

    def action_trash(self) -> None:
        """Look into the trash."""
        from hermes_tui.dialogs.trash import TrashDialog

        self.app.push_screen(TrashDialog(self.office, self.clock()), self._trash)

    def _trash(self, wanted: Restore | Purge | None) -> None:
        from hermes_tui.dialogs.trash import Restore

        if wanted is None or self._refuse_read_only():
            return
        if isinstance(wanted, Restore):
            self.change(lambda store, _: store.trash.restore(wanted.batch_id), self._restored)
        else:
            self.change(lambda store, _: store.trash.empty(batch_id=wanted.batch_id), self._purged)

    def _purged(self, purged: Purged) -> None:
        self._done(
            f"{plural(purged.sessions, 'session')} removed for good, {byte_size(purged.bytes)}."
        )

    # -- export ----------------------------------------------------------------------------

    def action_export(self) -> None:
        """Write conversations to a file."""
        from hermes_tui.dialogs.export import ExportDialog

        target = self._target(self.action_export)
        if target is None:
            return
        listed = [entry for entry in self.sessions.listed() if isinstance(entry, str)]
        dialog = ExportDialog(target.root_id, list(self.sessions.selected), listed)
        self.app.push_screen(dialog, self._export)

    def _export(self, wanted: Export | None) -> None:
        if wanted is None:
            return

        def write(store: Store, work: Work) -> int:
            members: dict[str, None] = {}
            for root in wanted.roots:
                members.update(dict.fromkeys(store.lineage.members(root)))
            return store.transfer.export_file(
                wanted.path, wanted.fmt, list(members), wanted.redact, work.counted
            )

        self._long(
            "Exporting",
            write,
            lambda number: self.say(f"{plural(number, 'session')} written to {wanted.path}."),
            writing=False,
        )

    # -- marks -----------------------------------------------------------------------------

    def _mark(self, target: Target, sentence: str, change: Callable[[Store, str], object]) -> None:
        if self._refuse_read_only():
            return
        roots = list(self.sessions.selected) or [target.root_id]

        def apply(store: Store, stopped: Stopped) -> None:
            for root in roots:
                change(store, root)

        self.change(apply, lambda _: self._done(sentence))

    def action_pin(self) -> None:
        """Pin or unpin."""
        target = self._target(self.action_pin)
        if target is None:
            return
        if target.row is not None and target.row.pinned:
            self._mark(target, "Not pinned any more.", lambda store, root: store.marks.unpin(root))
        else:
            self._mark(target, "Pinned.", lambda store, root: store.marks.pin(root))

    def action_archive(self) -> None:
        """Archive, or bring back."""
        target = self._target(self.action_archive)
        if target is None:
            return
        if target.row is not None and target.row.archived:
            self._mark(
                target, "Not archived any more.", lambda store, root: store.marks.unarchive(root)
            )
        else:
            self._mark(
                target, "Archived; h shows it.", lambda store, root: store.marks.archive(root)
            )

    def action_tag(self) -> None:
        """Give tags."""
        from hermes_tui.dialogs.base import Ask

        target = self._target(self.action_tag)
        if target is None or self._refuse_read_only():
            return
        tags = " ".join(target.row.tags) if target.row is not None else ""
        hint = "Words with spaces between; an empty line takes all tags away."
        dialog = Ask("Tags", tags, "Set", hint)
        self.app.push_screen(dialog, lambda text: self._tag(target, text))

    def _tag(self, target: Target, text: str | None) -> None:
        if text is None:
            return
        tags = text.replace(",", " ").replace("#", " ").split()

        def change(store: Store, root: str) -> None:
            store.marks.untag(root)
            if tags:
                store.marks.tag(root, *tags)

        self._mark(target, "Tagged." if tags else "No tags any more.", change)

    # -- copying ---------------------------------------------------------------------------

    def copy(self, text: str, what: str) -> None:
        """Copy text by all ways there are."""
        from hermes_tui.widgets import clipboard

        self.app.copy_to_clipboard(text)
        self.run_worker(lambda: clipboard.copy_with_tool(text), thread=True, group="copy")
        self.say(f"Copied {what}.")

    def action_copy_id(self) -> None:
        """Copy the session's id."""
        target = self._target(self.action_copy_id)
        if target is not None:
            tip = target.row.tip_id if target.row is not None else target.root_id
            session_id = target.session_id if target.part else tip
            self.copy(session_id, session_id)

    def action_copy_command(self) -> None:
        """Copy the command that resumes the session."""
        target = self._target(self.action_copy_command)
        if target is not None:
            tip = target.row.tip_id if target.row is not None else target.root_id
            command = f"hermes --resume {target.session_id if target.part else tip}"
            self.copy(command, command)

    def on_transcript_copied(self, event: Transcript.Copied) -> None:
        """Copy a message."""
        event.stop()
        self.copy(event.text, f"{len(event.text):,} characters")

    # -- saved searches, figures, settings -------------------------------------------------

    def action_saved_searches(self) -> None:
        """Keep or use a search."""
        from hermes_tui.dialogs.saved_searches import SavedDialog

        dialog = SavedDialog(self.office, self.search_bar.text.strip())
        self.app.push_screen(dialog, self._saved)

    def _saved(self, wanted: Use | Keep | Forget | None) -> None:
        from hermes_tui.dialogs.saved_searches import Forget, Keep, Use

        if isinstance(wanted, Use):
            self.search_bar.text = wanted.text
            self.search_bar.input.focus()
        elif isinstance(wanted, Keep) and not self._refuse_read_only():
            self.change(
                lambda store, _: store.saved_searches.save(wanted.name, wanted.text),
                lambda saved: self.say(f"Kept as “{saved.name}”."),
            )
        elif isinstance(wanted, Forget) and not self._refuse_read_only():
            self.change(
                lambda store, _: store.saved_searches.forget(wanted.name),
                lambda _: self.say(f"Forgot “{wanted.name}”."),
            )

    def action_stats(self) -> None:
        """Show figures and habits."""
        from hermes_tui.dialogs.stats import StatsDialog

        self.app.push_screen(StatsDialog(self.office, self.clock()))

    def action_settings(self) -> None:
        """Try themes and keys."""
        from hermes_tui.dialogs.settings import SettingsDialog

        self.app.push_screen(SettingsDialog(self.key_overrides), self._settings)

    def _settings(self, wanted: Settings | None) -> None:
        if wanted is not None:
            self.key_overrides = dict(wanted.keys)
            self.app.set_keymap(self.key_overrides)
            self.show_hints()
