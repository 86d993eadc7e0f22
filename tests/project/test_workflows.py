"""The workflows of GitHub: what they run is ours, and runs by hand too.
`make lint` lets actionlint look at them."""

import re

import pytest
import yaml

from tests.helpers.project import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {
    file.stem: yaml.safe_load(file.read_text("utf8"))
    for file in sorted(FOLDER.glob("*.yml"))
}
JOBS = {
    f"{name}: {title}": job
    for name, workflow in WORKFLOWS.items()
    for title, job in workflow["jobs"].items()
}
MAKEFILE = (ROOT / "Makefile").read_text("utf8")
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
# All that a job may do besides reading.
RIGHTS = {
    "nightly: report": {"issues": "write"},
    "pages: deploy": {"pages": "write", "id-token": "write"},
    "release: pypi": {"id-token": "write"},
    "release: github": {"contents": "write"},
}
WINDOWS = "python book/_tools/extras.py alone"  # there is no make


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_what_a_job_runs_is_a_target_of_make(job):
    """But on Windows; and whatever its matrix puts in."""
    own = {f"make {target}" for target in TARGETS}
    own |= {WINDOWS} if job["runs-on"].startswith("windows") else set()
    target = "${{ matrix.target }}"
    matrix = job.get("strategy", {}).get("matrix", {})
    runs = [step["run"] for step in job["steps"] if "run" in step]
    for name in matrix.get("target", [target]):
        assert {run.replace(target, name) for run in runs} <= own


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_few_rights_ends_in_time_and_keeps_no_credentials(name):
    job = JOBS[name]
    asked = job.get("permissions", {})
    writes = {k: v for k, v in asked.items() if v != "read"}
    assert writes == RIGHTS.get(name, {})
    assert job["timeout-minutes"] <= 120
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_the_four_workflows_are_started_as_the_readme_says():
    starts = {name: flow[True] for name, flow in WORKFLOWS.items()}  # on:
    assert set(starts) == {"tests", "pages", "nightly", "release"}
    assert set(starts["tests"]) == {"push", "pull_request"}
    assert starts["pages"]["push"] == {"branches": ["main"]}
    assert starts["release"] == {"push": {"tags": ["v*"]}}
    assert "schedule" in starts["nightly"]
    reads = {"contents": "read"}
    assert all(flow["permissions"] == reads for flow in WORKFLOWS.values())
