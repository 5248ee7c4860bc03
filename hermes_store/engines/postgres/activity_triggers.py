"""The triggers that keep `session_activity` up to date, and note which messages to index.

The relation is the same as in SQLite: see `engines.sqlite.session_activity_table` for what its
columns mean. `@.` stands for the schema.
"""

from __future__ import annotations

from hermes_store.engines.postgres.dialect import DIALECT
from hermes_store.records import relation_to_parent as edges

PREVIEW = 256
LISTED = ", ".join(f"'{each.value}'" for each in edges.LISTED)
_EDGE = edges.rule("s", "p", DIALECT.json_text, None, "{0} IS NOT DISTINCT FROM {1}").replace(
    "json_text(", "@.json_text("
)
_LAST = "(SELECT max(m.timestamp) FROM @.messages m WHERE m.session_id = a.session_id)"
_FIRST = (
    "(SELECT {} FROM @.messages m WHERE m.session_id = a.session_id AND m.role = 'user' "
    "AND m.content IS NOT NULL ORDER BY m.timestamp, m.id LIMIT 1)"
)


def _with_chain(own: str) -> str:
    """Return the SQL for the newest activity of the chain that starts at a row `a`."""
    return (
        f"greatest({own}, (SELECT max(k.last_active) FROM @.session_activity k "
        "WHERE k.root_id = a.session_id AND k.edge = 'compression'))"
    )


def _function(head: str, returns: str, body: str, declared: str = "") -> str:
    declare = f"DECLARE {declared} " if declared else ""
    return (
        f"CREATE FUNCTION @.{head} RETURNS {returns} LANGUAGE plpgsql AS "
        f"$$ {declare}BEGIN {body} END $$"
    )


def _trigger(name: str, when: str, body: str, declared: str = "") -> tuple[str, str]:
    table = "messages" if " messages" in when else "sessions"
    when = when.replace(f" {table}", f" @.{table}")
    return (
        _function(f"{name}()", "trigger", f"{body} RETURN NULL;", declared),
        f"CREATE TRIGGER {name} {when} FOR EACH ROW EXECUTE FUNCTION @.{name}()",
    )


_ROOT_OF = (
    "CREATE FUNCTION @.root_of(start text) RETURNS text LANGUAGE sql STABLE AS $$ "
    'WITH RECURSIVE up(id, depth) AS (SELECT start COLLATE "C", 0 UNION ALL '
    "SELECT s.parent_session_id, up.depth + 1 FROM up "
    "JOIN @.session_activity a ON a.session_id = up.id AND a.edge = 'compression' "
    "JOIN @.sessions s ON s.id = up.id WHERE up.depth < 1000) "
    "SELECT id FROM up ORDER BY depth DESC LIMIT 1 $$"
)
_REFRESH_CHAIN = _function(
    "refresh_chain(changed text[])",
    "void",
    f"UPDATE @.session_activity a SET chain_active = {_with_chain('a.last_active')} "
    "WHERE a.session_id = ANY(changed);",
)
_REFRESH_FAMILY = _function(
    "refresh_family(changed text)",
    "void",
    "UPDATE @.session_activity a SET edge = x.edge, "
    f"listed = x.edge IN ({LISTED}), source = x.source, "
    "last_active = CASE WHEN a.spoken THEN a.last_active ELSE x.started_at END "
    f"FROM (SELECT s.id, s.source, s.started_at, {_EDGE} AS edge FROM @.sessions s "
    "LEFT JOIN @.sessions p ON p.id = s.parent_session_id "
    "WHERE s.id = changed OR s.parent_session_id = changed) x WHERE a.session_id = x.id; "
    # A session, its children, and everything that continues them.
    "below := ARRAY(WITH RECURSIVE d(id) AS (SELECT b.id FROM "
    '(SELECT changed COLLATE "C" AS id UNION '
    "SELECT s.id FROM @.sessions s WHERE s.parent_session_id = changed) b UNION "
    "SELECT s.id FROM d JOIN @.sessions s ON s.parent_session_id = d.id "
    "JOIN @.session_activity a ON a.session_id = s.id AND a.edge = 'compression') "
    "SELECT id FROM d); "
    "UPDATE @.session_activity a SET root_id = @.root_of(a.session_id) "
    "WHERE a.session_id = ANY(below); "
    "PERFORM @.refresh_chain(below);",
    "below text[];",
)
_REFRESH_SAID = _function(
    "refresh_said(changed text)",
    "void",
    f"UPDATE @.session_activity a SET last_active = coalesce({_LAST}, s.started_at), "
    f"spoken = {_LAST} IS NOT NULL, preview_id = {_FIRST.format('m.id')}, "
    f"preview = {_FIRST.format(f'left(m.content, {PREVIEW})')} "
    "FROM @.sessions s WHERE s.id = a.session_id AND a.session_id = changed; "
    "PERFORM @.refresh_chain(ARRAY[changed, (SELECT root_id FROM @.session_activity "
    "WHERE session_id = changed)]);",
)

_SAID = "CASE WHEN a.spoken THEN greatest(a.last_active, NEW.timestamp) ELSE NEW.timestamp END"
_IS_FIRST = (
    "NEW.role = 'user' AND NEW.content IS NOT NULL AND (a.preview_id IS NULL OR NEW.timestamp < "
    "(SELECT m.timestamp FROM @.messages m WHERE m.id = a.preview_id))"
)
_NEWEST_WINS = "CASE WHEN NEW.timestamp >= a.chain_active THEN NEW.timestamp ELSE {} END"

TRIGGERS = (
    # Appending is the hot path: one update for a session that is its own root, as most are.
    *_trigger(
        "message_said",
        "AFTER INSERT ON messages",
        "INSERT INTO @.todo VALUES (NEW.id) ON CONFLICT DO NOTHING; "
        f"UPDATE @.session_activity a SET spoken = TRUE, last_active = {_SAID}, "
        f"chain_active = {_NEWEST_WINS.format(_with_chain(_SAID))}, "
        f"preview_id = CASE WHEN {_IS_FIRST} THEN NEW.id ELSE a.preview_id END, "
        f"preview = CASE WHEN {_IS_FIRST} THEN left(NEW.content, {PREVIEW}) ELSE a.preview END "
        "WHERE a.session_id = NEW.session_id RETURNING a.root_id INTO root; "
        "IF root <> NEW.session_id THEN UPDATE @.session_activity a SET chain_active = "
        f"{_NEWEST_WINS.format(_with_chain('a.last_active'))} WHERE a.session_id = root; END IF;",
        "root text;",
    ),
    *_trigger(
        # The guard skips the many messages that are neither first nor last.
        "message_gone",
        "AFTER DELETE ON messages",
        # In this order: whoever indexes the message right now is waited for, then its words go.
        "DELETE FROM @.todo WHERE id = OLD.id; DELETE FROM @.message_words WHERE id = OLD.id; "
        "IF EXISTS (SELECT 1 FROM @.session_activity a WHERE a.session_id = OLD.session_id "
        "AND (a.last_active <= OLD.timestamp OR a.preview_id = OLD.id)) THEN "
        "PERFORM @.refresh_said(OLD.session_id); END IF;",
    ),
    *_trigger(
        "message_changed",
        "AFTER UPDATE OF session_id, role, content, timestamp, tool_name, tool_calls ON messages",
        # In this order: whoever indexes the message right now is waited for, then its words go.
        "INSERT INTO @.todo VALUES (NEW.id) ON CONFLICT DO NOTHING; "
        "DELETE FROM @.message_words WHERE id = OLD.id; "
        "PERFORM @.refresh_said(OLD.session_id); "
        "IF NEW.session_id <> OLD.session_id THEN PERFORM @.refresh_said(NEW.session_id); END IF;",
    ),
    *_trigger(
        "session_begun",
        "AFTER INSERT ON sessions",
        "INSERT INTO @.session_activity(session_id, root_id, edge, listed, source, last_active, "
        f"chain_active, spoken) SELECT s.id, s.id, {_EDGE}, ({_EDGE}) IN ({LISTED}), s.source, "
        "s.started_at, s.started_at, FALSE FROM @.sessions s "
        "LEFT JOIN @.sessions p ON p.id = s.parent_session_id WHERE s.id = NEW.id "
        "ON CONFLICT DO NOTHING; "
        "IF NEW.parent_session_id IS NOT NULL THEN PERFORM @.refresh_family(NEW.id); "
        "PERFORM @.refresh_chain(ARRAY(SELECT root_id FROM @.session_activity "
        "WHERE session_id IN (NEW.id, NEW.parent_session_id))); END IF;",
    ),
    *_trigger(
        "session_changed",
        "AFTER UPDATE OF parent_session_id, started_at, ended_at, end_reason, source, "
        "model_config ON sessions",
        "PERFORM @.refresh_family(NEW.id); "
        "PERFORM @.refresh_chain(ARRAY(SELECT root_id FROM @.session_activity "
        "WHERE session_id IN (NEW.id, NEW.parent_session_id, OLD.parent_session_id)));",
    ),
    *_trigger(
        "session_gone",
        "AFTER DELETE ON sessions",
        "DELETE FROM @.session_activity WHERE session_id = OLD.id; "
        "PERFORM @.refresh_family(OLD.id); "
        "PERFORM @.refresh_chain(ARRAY(SELECT root_id FROM @.session_activity "
        "WHERE session_id = OLD.parent_session_id));",
    ),
)

STATEMENTS = (_ROOT_OF, _REFRESH_CHAIN, _REFRESH_FAMILY, _REFRESH_SAID, *TRIGGERS)
