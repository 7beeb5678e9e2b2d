"""The command line: ``ledger`` shows a ledger, ``serve`` answers analysts, ``token`` makes a token.

``ledger`` looks, and adds nothing. Half a line that a killed process has left is taken back by
SQLite, as whenever the file is opened.
"""

import argparse
import hashlib
import logging
import os
import secrets
import stat
import sys
from pathlib import Path

from skdp.accounting import PrivacyLedger

__all__ = ["main"]

HEAD = "<!doctype html><meta charset=utf-8><title>Privacy ledger</title>"
# Bytes 0 and 68 of a ledger.
MAGIC, IDS = b"SQLite format 3\x00", (b"skdp", b"skdq", b"skdr", b"skds")
EXIT = "exit codes: 0 shown; 1 shown, and latched by a refusal; 2 no ledger could be read"


def main(arguments=None):
    """Run the command line."""
    parser, ledger = _parsers()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return 0
    if given.command != "ledger":
        return _token() if given.command == "token" else _serve(given, parser)
    if problem := _problem(given.file):
        ledger.error(problem)
    try:
        report = PrivacyLedger.open(given.file).report()
        if given.html is not None:
            _write(given.html, HEAD + report._repr_html_(), given.file)
    except (OSError, ValueError) as error:  # a busy or damaged file, a page that exists
        ledger.error(str(error))
    if given.json or given.html is None:
        text = (report.to_json() if given.json else str(report)) + "\n"
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    return int(report.latched)


def _parsers():
    parser = argparse.ArgumentParser(prog="python -m skdp", description="Tools of skdp.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    text = "Show what a privacy ledger has granted, what is left, and whether it is latched."
    ledger = commands.add_parser("ledger", help=text, description=text, epilog=EXIT)
    ledger.add_argument("file", metavar="FILE", type=Path, help="file of the ledger")
    ledger.add_argument("--json", action="store_true", help="print JSON instead of text")
    ledger.add_argument("--html", metavar="PAGE", type=Path, help="write a page instead")
    text = "Answer analysts: they fit estimators on tables that stay here (guide: Remote tables)."
    serve = commands.add_parser("serve", help=text, description=text)
    serve.add_argument("file", metavar="HOLDER.TOML", type=Path, help="tables, analysts, budgets")
    serve.add_argument("--log", type=Path, help="file of who asked what; holds no data")
    text = "Make a token for an analyst, and its digest for the file of the holder."
    commands.add_parser("token", help=text, description=text)
    return parser, ledger


def _token():
    token = secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    sys.stdout.write(f'for the analyst:  {token}\nfor holder.toml:  token_sha256 = "{digest}"\n')
    return 0


def _serve(given, parser):
    from skdp.remote import read_holdings, serve

    os.umask(0o077)  # ledgers and log are files of this user alone
    if given.log is not None:
        logging.basicConfig(filename=given.log, format="%(asctime)s %(message)s", level="INFO")
    try:
        holdings, where = read_holdings(given.file)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    sys.stdout.write(f"{len(holdings.tables)} table(s), {len(holdings.tokens)} analyst(s); ")
    sys.stdout.write(f"{where.get('socket') or where.get('host', '127.0.0.1')}. Stop: Ctrl-C\n")
    sys.stdout.flush()
    serve(holdings, **where)
    return 0


def _problem(path):
    """Return what is wrong with a file, read as plain bytes: SQLite may write to what it opens."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for somebody to write
            return f"{str(path)!r} cannot be read: it is no regular file."
        with path.open("rb") as file:
            head = file.read(72)
    except FileNotFoundError:
        return f"there is no file {str(path)!r}. PrivacyLedger(path, epsilon=...) creates a ledger."
    except OSError as error:
        return f"{str(path)!r} cannot be read: {error.strerror}."
    if head[:16] != MAGIC or head[68:] not in IDS:
        return f"{str(path)!r} is not a ledger of skdp. Pass the path that PrivacyLedger was given."
    return None


def _write(page, text, ledger):
    if page.exists() and page.samefile(ledger):
        raise ValueError("--html would overwrite the ledger. Pass the name of another file.")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
