"""Changes to conversations: rename, delete, undo, clean up, export, marks, trash.

A dialog says what a change would do. Changes run one after the other, each in a thread with its
own writer; what they did is said in one line, with the key that takes it back.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message
from textual.widget import Widget

from hermes_store.records.listing import Status
from hermes_store.store import Store
from hermes_tui.browse import change_jobs
from hermes_tui.browse.change_jobs import Job
from hermes_tui.browse.session_list_widget import SessionList, Target
from hermes_tui.browse.undo_stack import NOTHING, Outcome, UndoStack
from hermes_tui.opening.start_options import Opening
from hermes_tui.store_access import READ_ONLY, Access, Answer, Failed
from hermes_tui.widgets import clipboard
from hermes_tui.widgets.notice import Notice

# Dialogs are loaded when they open, so that the first rows do not wait for them.
if TYPE_CHECKING:
    from hermes_store.records.marks import TagChange
    from hermes_store.records.prune import PrunePlan
    from hermes_tui.dialogs.delete import Delete
    from hermes_tui.dialogs.export import Export
    from hermes_tui.dialogs.progress import Work
    from hermes_tui.dialogs.rename import Rename
    from hermes_tui.dialogs.saved_searches import Use
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
        gone: tuple[str, ...] = ()
        """Conversations that no list shows any more."""
        archived: tuple[str, ...] = ()
        """Conversations that only a list of archived ones shows."""
        undoable: bool = False

    @dataclass
    class SearchChosen(Message):
        """A saved search should run."""

        text: str

    class SearchesChanged(Message):
        """The saved searches, or their order, have changed."""

    class Changed(Answer[Outcome]):
        """A change was made."""

    class Undone(Answer[Outcome]):
        """A change was taken back."""

    class Finished(Answer[str]):
        """Something was done that the list does not show, described in a sentence."""

    def __init__(self, access: Access, opening: Opening, undo_key: Callable[[], str]) -> None:
        """`undo_key` returns the key that undoes a change, for display."""
        super().__init__()
        self.access = access
        self._undo_key = undo_key
        self._clock = opening.clock
        self._sessions_dir = opening.sessions_dir
        self._stack = UndoStack()
        self._works: defaultdict[type[Answer[Any]], deque[Work | None]] = defaultdict(deque)
        """What is under way, by the answer it ends with; None where that takes no time."""

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

    # -- one change after the other --------------------------------------------------------

    # Changes run in a queue that quitting waits for, so that none is lost. What takes them back is
    # noted there, too: an undo that was typed at once finds the change before it.

    def _change(self, job: Job, work: Work | None = None) -> None:
        self._start(lambda store: self._stack.made(job(store)), self.Changed, work)

    def undo(self) -> None:
        """Take back the latest change, once those before it are made."""
        if not self._refuse_read_only():
            self._start(self._stack.take_back, self.Undone)

    def _start(self, job: Job, answer: type[Answer[Outcome]], work: Work | None = None) -> None:
        self._works[answer].append(work)
        self.access.change(self, answer, lambda store, _: job(store))

    def _ended(self, question: type[Answer[Any]]) -> None:
        works = self._works[question]
        work = works.popleft() if works else None
        if work is not None:
            work.ended = True

    def on_changes_changed(self, event: Changed) -> None:
        event.stop()
        self._ended(self.Changed)
        self._tell(event.value)

    def _tell(self, outcome: Outcome) -> None:
        text = outcome.text
        if outcome.undo is not None:
            text = f"{text} — {self._undo_key()} undo"
        self.post_message(self.Done(text, outcome.gone, outcome.archived, bool(outcome.undo)))

    def on_changes_undone(self, event: Undone) -> None:
        event.stop()
        self._ended(self.Undone)
        if event.value is NOTHING:
            self.post_message(Notice(NOTHING.text))
            return
        more = f" — {self._undo_key()} undoes the step before" if len(self._stack) else ""
        outcome = event.value
        self.post_message(self.Done(f"Undone: {outcome.text}{more}", outcome.gone, (), bool(more)))
        self.post_message(self.SearchesChanged())

    def on_changes_finished(self, event: Finished) -> None:
        event.stop()
        self._ended(self.Finished)
        self.post_message(Notice(event.value))

    def on_failed(self, event: Failed) -> None:
        """Report the failure and refresh the list: part of the change may have been made."""
        event.stop()
        self._ended(event.question)
        sentence = str(event.error)
        if event.question is self.Undone:
            sentence = f"Could not undo: {sentence}"
        self.post_message(Notice(sentence, error=True))
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

    def _long(self, title: str, left_behind: str, job: Callable[[Store, Work], Outcome]) -> None:
        """Run a change that may take long; if it does, a dialog shows progress and can stop it.

        `left_behind` says what stopping it leaves behind.
        """
        from hermes_tui.dialogs.progress import begin

        work = begin(self, title, left_behind)
        self._change(lambda store: job(store, work), work)

    # -- rename ----------------------------------------------------------------------------

    def rename(self, sessions: SessionList) -> None:
        """Rename the current session, or the newest one of a conversation."""
        from hermes_tui.dialogs.rename import RenameDialog

        target = self._target(sessions)
        if target is None or self._refuse_read_only():
            return
        title = change_jobs.title(sessions, target)
        self.app.push_screen(RenameDialog(self.access, target.resumed_id, title), self._rename)

    def _rename(self, wanted: Rename | None) -> None:
        if wanted is not None:
            self._change(lambda store: change_jobs.rename(store, wanted.session_id, wanted.title))

    # -- delete, clean up, trash -----------------------------------------------------------

    def delete(self, sessions: SessionList) -> None:
        """Move the current conversation to trash; ask before several, or a part of one."""
        from hermes_tui.dialogs.delete import DeleteDialog

        target = self._target(sessions)
        if target is None or self._refuse_read_only():
            return
        roots = sessions.chosen(target)
        part = target.session_id if target.part and not sessions.selected else None
        if len(roots) == 1 and part is None:
            self._delete_one(roots[0], change_jobs.name_of(sessions, roots))
            if target.row is None or target.row.status is not Status.LIVE:
                sessions.leave_row()  # so that a key pressed again means the next one
            return
        names = [change_jobs.name(sessions, root) for root in roots]
        dialog = DeleteDialog(self.access, roots, names, self._clock(), part=part)
        self.app.push_screen(dialog, self._delete)

    def _delete_one(self, root: str, name: str) -> None:
        folder, now = self._sessions_dir, self._clock()
        delete = change_jobs.delete_conversation
        self._long(
            "Deleting",
            MOVED_SO_FAR,
            lambda store, work: delete(store, root, name, folder, now, work),
        )

    def _delete(self, wanted: Delete | None) -> None:
        if wanted is None:
            return
        ids, folder = wanted.session_ids, self._sessions_dir
        roots = () if wanted.part else wanted.roots
        name = change_jobs.conversations(len(wanted.roots)) if roots else "1 session"
        self._long(
            "Deleting",
            MOVED_SO_FAR,
            lambda store, work: change_jobs.delete(store, ids, roots, name, folder, work),
        )

    def prune(self, here: str | None = None) -> None:
        """Ask which old conversations to delete, in one workspace if only that one is shown."""
        from hermes_tui.dialogs.prune import PruneDialog

        if not self._refuse_read_only():
            where = "" if here is None else f'workspace:"{here}"'
            self.app.push_screen(PruneDialog(self.access, self._clock(), where), self._prune)

    def _prune(self, plan: PrunePlan | None) -> None:
        if plan is not None:
            folder = self._sessions_dir
            self._long(
                "Deleting old conversations",
                MOVED_SO_FAR,
                lambda store, work: change_jobs.prune(store, plan, folder, work),
            )

    def trash(self) -> None:
        """Open the trash."""
        from hermes_tui.dialogs.trash import TrashDialog

        self.app.push_screen(TrashDialog(self.access, self._clock()), self._trash)

    def _trash(self, wanted: Restore | Purge | None) -> None:
        from hermes_tui.dialogs.trash import Restore

        if wanted is None or self._refuse_read_only():
            return
        folder = self._sessions_dir
        if isinstance(wanted, Restore):
            chosen = wanted.conversations
            self._change(lambda store: change_jobs.restore(store, chosen, folder))
        else:
            conversation = wanted.conversation
            self._change(lambda store: change_jobs.purge(store, conversation))

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
        from hermes_tui.dialogs.progress import begin

        work = begin(self, "Exporting", NO_FILE)
        self._works[self.Finished].append(work)
        self.access.ask(
            self,
            self.Finished,
            lambda store, _: change_jobs.export(store, wanted, work),
            exclusive=False,
        )

    # -- marks -----------------------------------------------------------------------------

    def _mark(
        self, sessions: SessionList, mark: Callable[[Store, Sequence[str], str], Outcome]
    ) -> None:
        target = self._target(sessions)
        if target is not None and not self._refuse_read_only():
            roots = sessions.chosen(target)
            name = change_jobs.name_of(sessions, roots)
            self._change(lambda store: mark(store, roots, name))

    def pin(self, sessions: SessionList) -> None:
        """Pin, or unpin if all are pinned."""
        self._mark(sessions, change_jobs.pin)

    def archive(self, sessions: SessionList) -> None:
        """Archive, or unarchive if all are archived."""
        self._mark(sessions, change_jobs.archive)

    def tag(self, sessions: SessionList) -> None:
        """Ask for the tags to add and remove."""
        from hermes_tui.dialogs.tags import TagsDialog

        target = self._target(sessions)
        if target is None or self._refuse_read_only():
            return
        roots = sessions.chosen(target)
        name = change_jobs.name_of(sessions, roots)
        known = [row.tags for root in roots if (row := sessions.row(root)) is not None]

        def save(change: TagChange | None) -> None:
            if change is not None:
                self._change(lambda store: change_jobs.retag(store, roots, change, name))

        self.app.push_screen(TagsDialog(self.access, roots, known), save)

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

        def changed(said: str, undo: Callable[[Store], str] | None) -> None:
            if said:
                back = None if undo is None else lambda store: Outcome(undo(store))
                self._change(lambda _: Outcome(said, back))
            self.post_message(self.SearchesChanged())

        def chosen(wanted: Use | None) -> None:
            if wanted is not None:
                self.post_message(self.SearchChosen(wanted.text))

        self.app.push_screen(SavedDialog(self.access, text, changed), chosen)
