"""The phrases that sample sessions are made of. Data only.

In templates, {path}, {url}, {mail}, {name}, {word}, {number}, {lines}, {hash} and {service} are filled in
by the generator.
"""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """A topic: a title, questions of the user, and answers."""

    title: str
    asks: tuple[str, ...]
    answers: tuple[str, ...]


ENGLISH = (
    Topic(
        "Fix {service} login timeout",
        (
            "Users get logged out of {service} after {number} seconds. Can you find out why?",
            "Don't change the public API, just fix the timeout in {path}.",
            "What did the log say about request {hash}?",
            "Looks good. Can you also add a test for it?",
        ),
        (
            "The session cookie expires before the refresh token is used. In `{path}` the lifetime "
            "is read from `SESSION_TTL`, which is **{number}** instead of {number}0.\n\n"
            "```python\ndef lifetime(settings):\n    return settings.get('session_ttl', {number}) * 1000\n```",
            "I changed `{path}` and ran the suite: {number} passed, 0 failed. See {url} for the "
            "background on sliding expiry.",
            "Two tests fail because they freeze the clock at midnight; I'd rather fix the tests.",
        ),
    ),
    Topic(
        "Refactor the {service} module",
        (
            "Help me refactor {path}, it's over {lines} lines now.",
            "Can you split it so that parsing and I/O are separate?",
            "Please keep the function names, other teams import them.",
        ),
        (
            "I'd cut it along the data flow:\n\n1. `read_{word}` loads and validates\n"
            "2. `plan_{word}` decides\n3. `apply_{word}` writes\n\nNothing else needs to know the file.",
            "Done. `{path}` went from {lines} lines to 140, and the imports still work.\n\n"
            "```bash\n$ pytest -q tests/{word}\n{number} passed in 3.2s\n```",
        ),
    ),
    Topic(
        "Deploy {service} with Docker",
        (
            "The docker deploy step fails in CI with exit code 137. Any idea?",
            "Which image tag is running in production right now?",
            "Roll it back to {hash} and tell {mail}.",
        ),
        (
            "Exit code 137 means the container was killed for memory. The build of {service} peaks "
            "at 2{number} MB; the runner has 2048.",
            "Production runs `registry.example.com/{service}:{hash}`. The rollback took 50% of the "
            "usual time because the layers were cached.",
            "I sent a note to {mail} and linked {url}.",
        ),
    ),
    Topic(
        "Plan a trip to {name}",
        (
            "What's the weather in Las Vegas next week?",
            "Find me a quiet hotel near the old town, under ${number} a night.",
            "And a vegetarian restaurant for Friday evening, please 🙏",
        ),
        (
            "Sunny, 31 °C by day and 18 °C at night. I'd pack a light jacket for the evenings ☀️.",
            "Three that fit:\n\n| hotel | price | walk |\n|---|---|---|\n| Casa {name} | ${number} | 6 min |\n"
            "| The Mill | $88 | 11 min |\n| Garden Rooms | $74 | 15 min |",
            "Booked a table at *{name}* for 19:30. The confirmation went to {mail}.",
        ),
    ),
    Topic(
        "Explain {word} in plain words",
        (
            "What is a {word} and when would I use one?",
            "I still don't get the part about {word}. Can you give an example in C#?",
            "Is that the same as in C++?",
        ),
        (
            "A {word} is a promise about order, not about time. Think of a queue at a bakery: you "
            "know who is next, not when.",
            '```csharp\nvar queue = new Queue<string>();\nqueue.Enqueue("{word}");\n'
            "Console.WriteLine(queue.Peek());\n```\nNothing is removed by `Peek`.",
            "Almost. In C++ you choose the container underneath, in C# you don't.",
        ),
    ),
    Topic(
        "Review PR{lines} for {service}",
        (
            "Please review PR{lines}, it touches the payment flow.",
            "Is the retry in {path} safe if the first call went through?",
        ),
        (
            "Two remarks on PR{lines}:\n\n- the retry is not idempotent, a timeout may charge twice\n"
            "- `{path}` swallows the error; log it with the request id {hash}",
            "Not yet. Send an idempotency key, as {url} describes, and it is.",
        ),
    ),
    Topic(
        "Clean up {word} backups",
        (
            "My disk is 97% full. What takes the space?",
            "Delete everything in {path} that is older than {number} days.",
        ),
        (
            "`{path}` holds {number} GB, most of it snapshots of {word} from last year.",
            "Removed {number} files, 41.7 GB are free again. I kept the newest three of each.",
        ),
    ),
    Topic(
        "Debug flaky test in {service}",
        (
            "Can you check the test failures?",
            "It only fails on Windows, in C:\\Users\\{word}\\AppData\\Local\\Temp.",
        ),
        (
            "Two tests fail because the temporary folder contains a space and the path is not quoted.",
            "The race is between the watcher and the writer: `{word}.lock` is removed before the "
            "rename. I swapped the two lines and ran it {number} times, no failure.",
        ),
    ),
)

CHINESE = (
    Topic(
        "部署 {service} 到生产环境",
        (
            "帮我检查一下 {service} 的部署日志，昨晚又失败了。",
            "回滚到上一个版本，然后通知 {mail}。",
        ),
        (
            "部署失败是因为内存不足：构建峰值为 {lines} MB，而机器只有 2048 MB。",
            "已经回滚到 `{hash}`，服务恢复正常。配置文件在 {path}，建议把超时时间改为 30 秒。",
        ),
    ),
    Topic(
        "数据库迁移方案",
        ("我们的数据库迁移需要多长时间？", "索引重建期间能不能继续写入？"),
        (
            "大约需要 {number} 分钟。先建立新索引，再分批复制数据，最后切换读写。",
            "可以，分批提交即可，每批不超过 500 行，写入不会被阻塞。",
        ),
    ),
)
JAPANESE = (
    Topic(
        "{service} の設定を直す",
        (
            "{service} が起動しません。設定ファイルを確認してください。",
            "テストも追加してもらえますか？",
        ),
        (
            "設定ファイル `{path}` の三行目が間違っていました。ポート番号を {lines} に変更しました。",
            "テストを追加しました。カタカナのファイル名でも動作します。",
        ),
    ),
)
KOREAN = (
    Topic(
        "{service} 오류 분석",
        ("로그인 오류의 원인을 찾아 주세요.", "수정한 다음에 배포까지 부탁해요."),
        (
            "세션 쿠키가 {number}초 후에 만료됩니다. `{path}` 파일의 설정값을 바꾸면 해결됩니다.",
            "배포를 완료했습니다. 테스트 {number}개가 모두 통과했습니다 ✅",
        ),
    ),
)

TOOLS = (
    "terminal",
    "read_file",
    "write_file",
    "web_search",
    "web_extract",
    "patch",
    "search_files",
)

ARGUMENTS = {
    "terminal": '{{"command": "grep -rn {word} {path}"}}',
    "read_file": '{{"path": "{path}"}}',
    "write_file": '{{"path": "{path}", "content": "{word} = {number}"}}',
    "web_search": '{{"query": "{word} {service}"}}',
    "web_extract": '{{"urls": ["{url}"]}}',
    "patch": '{{"mode": "replace", "path": "{path}", "old_string": "", "new_string": "{word}"}}',
    "search_files": '{{"pattern": "{word}", "target": "content", "path": "{path}"}}',
}

ENDINGS = ("user_exit", "cli_close", "session_reset", "new_session")
MODELS = (
    "anthropic/claude-sonnet-4.6",
    "anthropic/claude-opus-4.5",
    "openai/gpt-5.2",
    "google/gemini-3-flash",
    "nousresearch/hermes-4-405b",
)
SERVICES = ("checkout", "auth-service", "billing", "search-api", "gateway", "mailer", "inventory")
NAMES = ("Lisbon", "Kyoto", "Ghent", "Oaxaca", "Bergen", "Trieste", "Zürich", "Brontë")
WORDS = (
    "semaphore",
    "iterator",
    "backoff",
    "snapshot",
    "migration",
    "tokenizer",
    "scheduler",
    "checksum",
    "pipeline",
    "viewport",
    "coroutine",
    "ledger",
)
FOLDERS = (
    "src",
    "lib",
    "app/core",
    "services",
    "/srv/www",
    "~/projects/atlas",
    "/etc",
    "packages/ui",
)
SUFFIXES = (".py", ".ts", ".go", ".yaml", ".rs", ".md", "_test.py", ".config.json")

LOG_LINES = (
    "2026-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:07Z INFO  {service} request {hash} done in {number} ms",
    "2026-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:11Z WARN  {service} retrying {url} (request {hash})",
    "2026-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:19Z ERROR {path}: connection reset by peer [{hash}]",
    "-rw-r--r-- 1 deploy deploy {number} Mar {day:2d} {hour:02d}:{minute:02d} {path}",
    "{path}:{number}:    return {word}_for(user_id, max_age={number})",
    "+    if {word} is None: raise {word}Error('{path}')",
    "PASS  {path} ({number} ms)",
    '{{"id": "{hash}", "service": "{service}", "count": {number}, "url": "{url}"}}',
)

# Words for sentences, in about the order of their frequency; early ones are drawn far more often.
NOUNS = tuple(
    """server client request response file build release branch test error value default setting
    database query table index cache queue worker job message user account session token password
    policy role limit timeout module package function class argument option folder path line column
    row key process thread task event report result output format text number string list map
    network socket port host address domain certificate proxy gateway router container image volume
    cluster node service endpoint schema migration transaction lock snapshot backup archive export
    import stream batch buffer chunk header body payload status code reason warning notice trace
    profile metric alert dashboard chart graph budget invoice order customer product stock price
    discount shipment delivery contract meeting agenda summary draft letter article chapter
    translation recipe garden train ticket museum forecast editor browser window button field form
    menu page screen theme colour font cursor shortcut plugin extension library framework compiler
    linter formatter debugger parser lexer grammar symbol literal constant variable loop condition
    exception stack heap pointer register cycle clock timer signal handler callback promise future
    channel mutex counter gauge histogram sample bucket shard replica primary leader follower quorum
    ledger receipt refund payment cart basket shelf warehouse courier parcel label barcode scanner
    printer camera sensor battery charger cable switch lamp kettle oven bicycle helmet ladder bridge
    harbour island valley river forest village market bakery passport suitcase ferry
    platform timetable season weather breakfast""".split()
)
VERBS = tuple(
    """reads writes opens closes needs uses returns checks sends loads stores starts stops updates
    creates removes replaces finds follows keeps holds locks copies moves renames restarts verifies
    reports measures compares improves reduces counts filters sorts merges splits retries delays
    blocks breaks fixes wraps signs encodes parses caches archives exports imports syncs streams
    validates rejects accepts""".split()
)
LINKS = ("because", "and", "so", "while", "when", "before", "after", "once", "but", "unless")
ENDS = ("again", "now", "at night", "on the first try", "in production", "on every machine",
        "without a warning", "twice", "after the release", "by default")  # fmt: skip
QUALITIES = (
    "old", "new", "last", "first", "slow", "fast", "empty", "full", "stale", "fresh", "small", "large",
    "quiet", "loud", "hidden", "public", "private", "local", "remote", "early", "late",
)  # fmt: skip
COMMON = NOUNS + VERBS + QUALITIES
"""Parts of identifiers."""
