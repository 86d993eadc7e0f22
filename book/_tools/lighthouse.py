"""Ask Lighthouse about pages of the built book, as a phone would have them.

usage: lighthouse.py [PAGE ...]    as in chapters/06_scores.html; or all

Needs Node. The pages are served as a site serves them: compressed.
"""

import gzip
import json
import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import browsers

HTML = Path(__file__).parents[2] / "_build" / "html"
VERSION = "13.5.0"
ASKED = ("performance", "accessibility", "best-practices", "seo")
COMMAND = (
    "npx --yes lighthouse@{} {} --quiet --output=json --only-categories={} "
    "--chrome-flags='--headless=new --no-sandbox'"
)
LEAST = 90  # for speed; the others are 100
LINE = "{:>5}{:>5}{:>5}{:>5}  {}"


class Compressed(SimpleHTTPRequestHandler):
    """Serves files as GitHub Pages does."""

    def do_GET(self) -> None:
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        body = gzip.compress(file.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(file))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_said) -> None:
        """Say nothing."""


def ask(url: str) -> dict:
    """Let Lighthouse look at a page."""
    command = COMMAND.format(VERSION, url, ",".join(ASKED))
    env = os.environ | {"CHROME_PATH": browsers.found()}
    said = subprocess.run(command, shell=True, stdout=subprocess.PIPE, env=env)
    return json.loads(said.stdout)


def below(report: dict) -> list[str]:
    """Name what a page loses points for."""
    return [
        f"{a['title']} {a.get('displayValue', '')}".strip()
        for name in ASKED
        for ref in report["categories"][name]["auditRefs"]
        for a in [report["audits"][ref["id"]]]
        if ref["weight"] and (1 if a["score"] is None else a["score"]) < 0.9
    ]


def main(pages: list[str]) -> None:
    """Print each page's points, and fail where they are too few."""
    if missing := browsers.missing():
        sys.exit(f"make lighthouse: {missing}.")
    serve = partial(Compressed, directory=HTML)
    server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}"
    every = sorted(
        f.relative_to(HTML).as_posix() for f in HTML.rglob("*.html")
    )
    poor = []
    for page in pages or [p for p in every if p != "404.html"]:
        report = ask(f"{site}/{page}")
        found = [round(100 * report["categories"][n]["score"]) for n in ASKED]
        print(LINE.format(*found, page), *below(report), sep="\n" + " " * 22)
        poor += [page] * (found[0] < LEAST or min(found[1:]) < 100)
    if poor:
        sys.exit(f"{len(poor)} pages are below {LEAST}, or not 100 elsewhere.")


if __name__ == "__main__":
    main(sys.argv[1:])
