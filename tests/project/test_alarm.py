"""A failure of the nightly run opens one issue, and comments on it later."""

import json

import alarm
import pytest

ADDRESS = "https://git.example.org/some_one/a-book/actions/runs/42"
OTHER = {"number": 3, "title": "The nightly run fails sometimes"}
OPEN = {"number": 7, "title": alarm.TITLE}


@pytest.fixture
def asked(monkeypatch):
    """What gh was asked; `issues` is what it lists."""
    calls: list[tuple[str, ...]] = []

    def gh(*words: str) -> str:
        calls.append(words)
        return json.dumps(gh.issues) if words[0] == "list" else "done\n"

    monkeypatch.setenv("GITHUB_SERVER_URL", "https://git.example.org")
    monkeypatch.setenv("GITHUB_REPOSITORY", "some_one/a-book")
    monkeypatch.setenv("GITHUB_RUN_ID", "42")
    monkeypatch.setattr(alarm, "gh", gh)
    gh.calls = calls
    return gh


def test_the_first_failure_opens_an_issue(asked):
    asked.issues = [OTHER]
    alarm.main()
    what, *words, body = asked.calls[-1]
    assert (what, *words) == ("create", "--title", alarm.TITLE, "--body")
    assert ADDRESS in body


def test_a_later_failure_comments_on_the_issue_that_is_open(asked):
    asked.issues = [OTHER, OPEN]
    alarm.main()
    what, number, _, body = asked.calls[-1]
    assert (what, number) == ("comment", "7")
    assert ADDRESS in body
    assert "create" not in [call[0] for call in asked.calls]


def test_outside_github_there_is_nothing_to_tell(monkeypatch):
    monkeypatch.delenv("GITHUB_RUN_ID", raising=False)
    with pytest.raises(SystemExit, match="a run on GitHub, and this is none"):
        alarm.main()


def test_gh_is_asked_about_issues(tmp_path, monkeypatch):
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\necho "$@"\n')
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert alarm.gh("list", "--state", "open") == "issue list --state open\n"
