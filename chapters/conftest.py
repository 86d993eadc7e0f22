"""How nbval compares a notebook's outputs with the stored ones.

Strictly, but for decimals, which may differ by one unit in the last printed
place. Drawings are compared by the text/plain description beside them.
"""

from nbval.plugin import IPyNbCell

from tests.numbers import agree

strictly = IPyNbCell.compare_outputs


def compare_outputs(cell, test, ref, skip_compare=None) -> bool:
    """Take over the stored texts that agree, then compare strictly."""
    for mine, stored in zip(test, ref, strict=False):
        for new, old in [
            (mine, stored),
            (mine.get("data"), stored.get("data")),
        ]:
            for key in (
                {"text", "text/plain"} & set(new or ()) & set(old or ())
            ):
                if agree(new[key], old[key]):
                    new[key] = old[key]
    skip = skip_compare or cell.parent.skip_compare
    return strictly(cell, test, ref, (*skip, "image/svg+xml"))


IPyNbCell.compare_outputs = compare_outputs
