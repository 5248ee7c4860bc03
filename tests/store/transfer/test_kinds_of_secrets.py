"""One of each kind of secret goes; what is known to stay is written down, and stays.

The values are put together at run time, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_store.transfer.personal_data import MASK
from hermes_store.transfer.redact import redact_text
from tests.store.processes import environment

DOCS = Path(__file__).parents[3] / "docs" / "export-import.md"
LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
DIGITS = "12345678901234567890"


def letters(number: int) -> str:
    """Return so many letters and digits."""
    return (LETTERS * 6)[:number]


def hexes(number: int) -> str:
    """Return so many hexadecimal digits."""
    return (HEX * 6)[:number]


def block(kind: str) -> str:
    """Return a private key as it stands in a file."""
    name = f"{kind} PRIVATE KEY".strip() + (" BLOCK" if kind == "PGP" else "")
    return f"-----BEGIN {name}-----\n{letters(64)}\n{letters(40)}==\n-----END {name}-----"


# What stands in the text, and the part of it that may not stay.
BY_FORM = {
    "AWS access key": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS temporary key": "ASIA" + "IOSFODNN7EXAMPLE",
    "GitHub personal token": "ghp" + "_" + letters(36),
    "GitHub OAuth token": "gho" + "_" + letters(36),
    "GitHub app token": "ghs" + "_" + letters(36),
    "GitHub fine-grained token": "github" + "_pat_" + letters(22) + "_" + letters(59),
    "GitLab token": "gl" + "pat-" + letters(20),
    "GitLab runner token": "gl" + "rt-" + letters(20),
    "Bitbucket token": "ATBB" + letters(32),
    "Atlassian token": "ATATT3" + letters(60),
    "Slack bot token": "xox" + "b-" + DIGITS[:12] + "-" + letters(24),
    "Slack user token": "xox" + "p-" + DIGITS[:12] + "-" + letters(24),
    "Slack app token": "xapp" + "-1-A" + letters(24),
    "Stripe live key": "sk" + "_live_" + letters(24),
    "Stripe test key": "sk" + "_test_" + letters(24),
    "Stripe restricted key": "rk" + "_live_" + letters(24),
    "Stripe webhook secret": "wh" + "sec_" + letters(32),
    "OpenAI key": "sk" + "-" + letters(48),
    "OpenAI project key": "sk" + "-proj-" + letters(48),
    "Anthropic key": "sk" + "-ant-api03-" + letters(80),
    "OpenRouter key": "sk" + "-or-v1-" + hexes(64),
    "xAI key": "xai" + "-" + letters(80),
    "Groq key": "gsk" + "_" + letters(52),
    "Perplexity key": "pplx" + "-" + letters(48),
    "Replicate token": "r8" + "_" + letters(37),
    "Hugging Face token": "hf" + "_" + letters(34),
    "Hugging Face token without digits": "hf" + "_" + ("AbCdEfGhIjKlMnOpQr" * 2)[:34],
    "NVIDIA key": "nv" + "api-" + letters(30) + "_" + letters(33),
    "Firecrawl key": "fc" + "-" + hexes(32),
    "E2B key": "e2b" + "_" + hexes(40),
    "Fireworks key": "fw" + "_" + letters(24),
    "Weights & Biases key": "wandb" + "_v1_" + letters(40) + "_" + letters(36),
    "ElevenLabs key": "sk" + "_" + hexes(48),
    "Pinecone key": "pcsk" + "_" + letters(5) + "_" + letters(60),
    "LangSmith key": "lsv2" + "_pt_" + hexes(32) + "_" + hexes(10),
    "Google API key": "AI" + "za" + letters(35),
    "Google access token": "ya" + "29." + letters(40),
    "Google refresh token": "1/" + "/0" + letters(40),
    "Google client secret": "GOC" + "SPX-" + letters(28),
    "Google client secret without digits": "GOC" + "SPX-" + "AbCdEfGhIjKl-_" * 2,
    "Azure client secret": "abc" + "8Q~" + letters(34),
    "Alibaba access key": "LTAI" + letters(20),
    "JSON web token": "eyJ" + letters(20) + ".eyJ" + letters(20) + "." + letters(30),
    "npm token": "npm" + "_" + letters(36),
    "PyPI token": "pypi" + "-AgEIcHlwaS5vcmc" + letters(60),
    "RubyGems key": "ruby" + "gems_" + hexes(48),
    "Docker Hub token": "dckr" + "_pat_" + letters(27),
    "Telegram bot token": DIGITS[:10] + ":AA" + letters(33),
    "Discord bot token": "M" + letters(25) + "." + letters(6) + "." + letters(38),
    "Twilio key": "SK" + hexes(32),
    "SendGrid key": "SG" + "." + letters(22) + "." + letters(43),
    "Mailgun key": "key" + "-" + hexes(32),
    "Mailgun key of the new form": hexes(32) + "-" + hexes(8) + "-" + hexes(8),
    "Mailchimp key": hexes(32) + "-us12",
    "Shopify token": "shp" + "at_" + hexes(32),
    "Square token": "sq0" + "atp-" + letters(22),
    "Square access token": "EAAA" + letters(60),
    "DigitalOcean token": "dop" + "_v1_" + hexes(64),
    "Heroku key": "HR" + "KU-AA" + letters(40),
    "Cloudflare origin key": "v1" + ".0-" + hexes(24) + "-" + hexes(146),
    "Netlify token": "nfp" + "_" + letters(36),
    "Vercel token": "vc" + "p_" + letters(40),
    "Supabase token": "sbp" + "_" + hexes(40),
    "Supabase secret key": "sb" + "_secret_" + letters(31),
    "PlanetScale token": "pscale" + "_tkn_" + letters(43),
    "Pulumi token": "pul" + "-" + hexes(40),
    "Terraform token": letters(14) + ".atlas" + "v1." + letters(60),
    "Tailscale key": "tskey" + "-auth-" + letters(20),
    "Vault token": "hvs" + "." + letters(24),
    "Databricks token": "dapi" + hexes(32),
    "Doppler token": "dp" + ".st.dev." + letters(40),
    "New Relic key": "NR" + "AK-" + letters(27).upper(),
    "New Relic license": hexes(36) + "NR" + "AL",
    "Sentry token": "sntrys" + "_" + letters(60),
    "Grafana token": "gl" + "sa_" + letters(32) + "_" + hexes(8),
    "Linear key": "lin" + "_api_" + letters(40),
    "Notion token": "ntn" + "_" + letters(46),
    "Notion token of the old form": "secret" + "_" + letters(43),
    "Airtable token": "pat" + letters(14) + "." + hexes(64),
    "Figma token": "figd" + "_" + letters(40),
    "Postman key": "PM" + "AK-" + hexes(24) + "-" + hexes(34),
    "age key": "AGE-SECRET" + "-KEY-1" + letters(58).upper(),
    "card number": "4111 1111 1111 " + "1111",
    "card number without spaces": "3782822463" + "10005",
    "IBAN": "DE89 3704 0044 " + "0532 0130 00",
    "IBAN without spaces": "GB82WEST123456" + "98765432",
}
IN_CONTEXT = {
    "AWS secret key": (f"AWS_SECRET_ACCESS_KEY={letters(40)}", letters(40)),
    "Azure storage": (f"AccountName=x;AccountKey={letters(86)}==;", letters(86)),
    "Azure storage key that begins like a path": (
        f"AccountKey=/{letters(20)}/{letters(64)}==;",
        letters(64),
    ),
    "AWS secret key that begins like a path": (
        f"AWS_SECRET_ACCESS_KEY=/{letters(20)}/{letters(18)}",
        letters(18),
    ),
    "Azure service bus": (f"SharedAccessKeyName=x;SharedAccessKey={letters(43)}=", letters(43)),
    "Azure shared signature": (f"https://x.example/?sv=2024&sig={letters(43)}%3D", letters(43)),
    "signed address": (f"https://x.example/a?X-Amz-Signature={hexes(64)}&b=1", hexes(64)),
    "RSA key": (block("RSA"), letters(64)),
    "EC key": (block("EC"), letters(64)),
    "OpenSSH key": (block("OPENSSH"), letters(64)),
    "PKCS 8 key": (block(""), letters(64)),
    "PGP key": (block("PGP"), letters(64)),
    "PuTTY key": (f"Private-Lines: 2\n{letters(64)}\n{letters(40)}=\n", letters(64)),
    "Google service account": (
        '{"private_key": "' + block("").replace("\n", "\\n") + '", "client_id": "1"}',
        letters(64),
    ),
    "OAuth refresh token": (f'{{"refresh_token": "{letters(40)}"}}', letters(40)),
    "Slack webhook": (
        f"https://hooks.slack.com/services/T{DIGITS[:8]}/B{DIGITS[:8]}/{letters(24)}",
        letters(24),
    ),
    "Discord webhook": (
        f"https://discord.com/api/webhooks/{DIGITS[:18]}/{letters(68)}",
        letters(68),
    ),
    "Cloudflare token": (f"CLOUDFLARE_API_TOKEN={letters(40)}", letters(40)),
    "Datadog key": (f"DD_API_KEY={hexes(32)}", hexes(32)),
    "Heroku key of the old form": (
        "HEROKU_API_KEY=0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
        "4b5a-6978",
    ),
    "Twilio token": (f"TWILIO_AUTH_TOKEN: {hexes(32)}", hexes(32)),
    "Sentry address": (f"https://{hexes(32)}@o1.ingest.sentry.io/2", hexes(32)),
    "database address": ("postgres://app:s3cr3t-pass@db.internal/app", "s3cr3t-pass"),
    "database address without a user": ("redis://:s3cr3t-pass@cache:6379/0", "s3cr3t-pass"),
    "password with an at sign": ("mysql://app:s3cr3t@pass@db/app", "pass@"),
    "basic-auth address": ("https://me:hunter2hunter2@example.com/x", "hunter2hunter2"),
    "bearer header": (f"Authorization: Bearer {letters(20)}", letters(20)),
    "basic header": ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    "basic header in JSON": ('{"Authorization": "Basic dXNlcjpwYXNz"}', "dXNlcjpwYXNz"),
    "token header": ("authorization: token abcdefghij", "abcdefghij"),
    "key header": (f"X-Api-Key: {letters(24)}", letters(24)),
    "cookie": (f"Cookie: theme=dark; session={letters(20)}", letters(20)),
    "set-cookie": (f"Set-Cookie: sid={letters(20)}; Path=/; HttpOnly", letters(20)),
    ".env password": ("DB_PASSWORD=correcthorse", "correcthorse"),
    ".env pass": ("SMTP_PASS=correcthorse9", "correcthorse9"),
    ".env pwd": ("MYSQL_PWD=correcthorse9", "correcthorse9"),
    "pwd": ("pwd=hunter2", "hunter2"),
    "pwd after a colon": ("pwd: hunter2", "hunter2"),
    "pwd in JSON": ('{"pwd": "hunter2"}', "hunter2"),
    "pwd of a connection": ("Server=db;Uid=app;Pwd=correcthorse;", "correcthorse"),
    "token with a space": ("SECRET_TOKEN='geh eim99'", "eim99"),
    "short password with a space": ("password = 'a b'", "a b"),
    "key with an invisible character": (f"use sk-{letters(9)}\u200b{letters(20)} now", letters(20)),
    "password name with an invisible character": ("pass\u200bword=hunter2", "hunter2"),
    ".pypirc": ("password = pypi-token-of-mine", "token-of-mine"),
    ".npmrc": (f"//registry.example/:_authToken={letters(36)}", letters(36)),
    "Docker login": (f'"auth": "{letters(40)}", "_auth": "{letters(41)}"', letters(41)),
    "password flag": ("deploy --password hunter2hunter2", "hunter2hunter2"),
    "token flag": (f"gh --token={letters(30)}", letters(30)),
    "curl user": ("curl -s -u admin:correcthorse https://x.example", "correcthorse"),
    "JSON password": ('{"password": "correct horse"}', "correct horse"),
    "YAML password": ("password: hunter2hunter2", "hunter2hunter2"),
    "email address": ("write to jane.doe+x@mail.example.co.uk.", "jane.doe"),
    "email with a name": ("From: Jane Doe <jane@example.com>", "jane@"),
    "email link": ("[me](mailto:jane@example.com?subject=hi)", "jane@"),
    "email in an address": ("https://x.example/?email=jane%40example.com&a=1", "jane%40"),
    "email in JSON": ('{"text": "hi\\njane@example.com\\n"}', "jane@"),
    "email with umlauts": ("jürgen@müller.example", "jürgen"),
    "email at a host like a picture": ("mail jane@2x.com now", "jane@"),
    "email with a full-width sign": ("jane\uff20example.com", "jane"),
    "email in full width": ("jane\uff20example\uff0ecom", "jane"),
    "email with an invisible character": ("jane@exam\u200bple.com", "jane@"),
    "email of a list": ("git@vger.kernel.org", "git@"),
    "email and password": ("jane@example.com:hunter2", "jane@"),
}

# The same sentences as in docs/export-import.md, each with an example.
MISSED = {
    "a password or a code mentioned in a sentence": "the password is hunter2",
    "keys of no special form without a telling name before them, such as an AWS secret key or a "
    "Datadog key alone": letters(40),
    "a key or token with spaces after a colon": 'api_key: "geh eim99"',
    "a short value that begins with `/`, as a path does": "API_KEY=/abc123def456",
    "a password given to `mysql` as `-psecret`": "mysql -pcorrecthorse9 app",
    "old Vault tokens (`s.…`) and old Airtable keys (`key…`)": "s." + letters(24),
    "secrets that are encoded, compressed, in an image, or split over several messages": (
        "cGFzc3dvcmQ" + "9aHVudGVyMg=="
    ),
    "words of a recovery phrase": "abandon ability able about above absent absorb abstract",
    "addresses without a dot after the @, in quotes, or spelled out (`jane at example dot com`)": (
        "jane@localhost, jane at example dot com"
    ),
    "names, phone numbers, postal and IP addresses": "Jane Doe, +49 30 901820, 192.168.0.1",
}

ORDINARY = (
    f"commit {hexes(32)}{hexes(8)} and {hexes(7)}",
    f"sha256:{hexes(64)}",
    "550e8400-e29b-41d4-a716-446655440000",
    "/usr/lib/python3.11/site-packages/token/secret.py:42",
    "C:\\Users\\jane\\new\\table",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "git clone git@github.com:me/project.git && git@host:repo.git",
    "rsync -a deploy@web.example.com:/var/www/ . && scp me@web.example.com:notes/a.txt .",
    "ssh://git@github.com/me/project and https://jane@example.com/x",
    "npm i left-pad@1.3.0 @angular/core@12.0.0-rc.1 next@13.4.1-canary.beta react@latest",
    "@app.route('/x')\n@dataclass\n@pytest.fixture(scope='module')",
    "a@b, A @ B.T, x@y.dot(z), this@MainActivity.context, @user, user@host",
    "logo@2x.png icon@3x.webp getty@tty1.service user@1000.slice backup@home.timer a@2x.ico",
    "Cookie: the browser sends it. A cookie: chocolate. Cookies=2",
    "Authorization: required. The authorization: basic idea, bearer of news",
    "Authorization: Bearer YOUR_API_KEY, Authorization: Bearer $TOKEN, authorization: token <t>",
    "PWD=/home/me OLDPWD=/home/me2 PWD=C:/Users/me2 pwd=$(pwd) pwd: ~/a2 pwd: print it pwd=src",
    "PWD=/Users/jane/MyVeryLongProjectName2024/Sources1",
    "SECRET_KEY=/run/secrets/App1/SigningKeys/Current2026 PRIVATE_KEY=/etc/ssl/private/app1.pem",
    "did_pass=yes, token = 'end of file', fc-cache e2b_sandbox fw_setenv hf_hub_download",
    "a family \U0001f469\u200d\U0001f4bb and \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "by-pass=open, compass=north, 3 tests pass: ok, the pass=fail ratio",
    "docker run -u 1000:1000 image; curl -sSL https://example.com/install.sh",
    "1234 5678 9012 3456, 4111111111111112, 1700000000000000, 0532013000",
    "DE00 1234 5678 9012 3456 78, AB12 CDEF GHIJ KLMN",
    "rnd_generator_seed_value_2 sk_buff_alloc_2 pat1 key-value SK2 hf_model_v2",
    "The patient was patched; SG.1, hvs.yaml, dp.pt.md, 10:AAA, eyJ, M.Sc., Q~5",
    "?sign=plus&signature=none&sig=short",
)


@pytest.mark.parametrize("kind", BY_FORM)
@pytest.mark.parametrize("around", ["{}", "use {}, please", '{{"a": "{}"}}', "x\\n{}\\ny", "({})"])
def test_a_secret_with_a_form_of_its_own_goes(kind: str, around: str) -> None:
    secret = BY_FORM[kind]
    masked = redact_text(around.format(secret))
    assert MASK in masked
    assert secret[6:] not in masked
    assert masked.startswith(around.format("\0").partition("\0")[0])
    assert masked.endswith(around.format("\0").partition("\0")[2])
    assert redact_text(masked) == masked


@pytest.mark.parametrize("kind", IN_CONTEXT)
def test_a_secret_that_its_surroundings_tell_goes(kind: str) -> None:
    text, secret = IN_CONTEXT[kind]
    assert secret in text
    masked = redact_text(text)
    assert MASK in masked
    assert secret not in masked
    assert redact_text(masked) == masked


def test_there_are_enough_kinds() -> None:
    assert len(BY_FORM) + len(IN_CONTEXT) >= 100


@pytest.mark.parametrize("sentence", MISSED)
def test_what_is_known_to_stay_is_written_down(sentence: str) -> None:
    assert redact_text(MISSED[sentence]) == MISSED[sentence]
    assert sentence in " ".join(DOCS.read_text().split())


def test_nothing_else_is_written_down() -> None:
    _, _, rest = DOCS.read_text().partition("Redaction misses:\n")
    listed, _, _ = rest.strip().partition("\n\n")
    items = re.findall(r"^- (.+(?:\n  .+)*)", listed, re.MULTILINE)
    assert [" ".join(each.split()).rstrip(";.") for each in items] == list(MISSED)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_text(text) == text


HOSTILE = """
from hermes_store.transfer.redact import redact_text
for piece in (
    "a@", "a@a.", "a.", "@", "a%40", "x-.", "4", "4 ", "4111-", "DE89 ", "DE89AAAA", "cookie: a=",
    "\\u200b", "\\uff20a", "pwd=", "=/aA1", "\\u200bkey=/", "authorization: basic ", "curl -u ",
    "0123456789abcdef", "M", "M" * 25 + ".", "?sig=", "://",
    "://aaaa1@", "://a:", "_pass=", "dp.st.", "eyJ.", "eyJaaaaaaaaa.", "xoxb-", "sk-", "\\\\n",
    "Private-Lines: 1 ", "key=", "1Q~", " ", '\\\\"', "token=", "bearer -", "password='key",
    "-----BEGIN RSA PRIVATE " + "KEY-----",
):
    text = (piece * (200_000 // len(piece) + 1))[:200_000]
    redact_text(text + "@!'token=")
    print(piece)
"""


def test_no_long_line_takes_forever() -> None:
    # A pattern that tries every way to split so long a line would not come back within the day.
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 42
