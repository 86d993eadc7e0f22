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

each_job = pytest.mark.parametrize("job", JOBS)


def commands(job: dict) -> set[str]:
    """What a job runs, with each target that its matrix has."""
    runs = [step["run"] for step in job["steps"] if "run" in step]
    matrix = job.get("strategy", {}).get("matrix", {})
    target = "${{ matrix.target }}"
    targets = matrix.get("target", [target])
    return {run.replace(target, name) for run in runs for name in targets}


def foreign(job: dict) -> set[str]:
    """The commands of a job that nobody could run by hand with make."""
    own = {f"make {target}" for target in TARGETS}
    own |= {WINDOWS} if job["runs-on"].startswith("windows") else set()
    return commands(job) - own


@each_job
def test_what_a_job_runs_is_a_target_of_make(job):
    assert foreign(JOBS[job]) == set()


@each_job
def test_a_job_may_read_and_what_it_needs_to_write(job):
    asked = JOBS[job].get("permissions", {})
    writes = {k: v for k, v in asked.items() if v != "read"}
    assert writes == RIGHTS.get(job, {})


@each_job
def test_a_job_ends_in_time_and_keeps_no_credentials(job):
    assert JOBS[job]["timeout-minutes"] <= 120
    for step in JOBS[job]["steps"]:
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
