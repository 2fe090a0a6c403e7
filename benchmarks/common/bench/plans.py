"""What is in plans."""


def scans(session, statement):
    """The scans of a statement's plan, as text."""
    (found,) = session.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchone()
    return ", ".join(dict.fromkeys(_scans(found[0]["Plan"])))


def _scans(plan):
    if "Scan" in plan["Node Type"] and plan["Node Type"] not in ("Bitmap Index Scan", "Subquery Scan"):
        yield plan.get("Custom Plan Provider", plan["Node Type"])
    for below in plan.get("Plans", []):
        yield from _scans(below)
