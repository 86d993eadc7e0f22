"""What a listing of source says beside a line."""


def shown(listing, code: str) -> str:
    """The note beside, or below, the line that begins so."""
    lines = str(listing).splitlines()
    i = next(i for i, s in enumerate(lines) if s.strip().startswith(code))
    note = lines[i].partition("#")[2]
    return (note or lines[i + 1].partition("#")[2]).strip()
