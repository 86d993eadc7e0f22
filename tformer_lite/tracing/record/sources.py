"""Sources: which step made what another step reads."""

from tformer_lite.tracing.record.recorder import Step


def sources_of(steps: list[Step]) -> list[list[int | None]]:
    """List the steps that made, or last changed, what each step reads: None
    for an input."""
    found, last = [], dict[int, int]()
    for i, step in enumerate(steps):
        found.append([last.get(mark.number) for mark in step.reads])
        last |= {mark.number: i for mark in step.makes}
    return found
