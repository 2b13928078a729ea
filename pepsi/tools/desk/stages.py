"""Which stages there are: those of the file, and those of the database alone."""

from pepsi.config.load import stage_of
from pepsi.db.overlay import overlay
from pepsi.tools.desk.command import Desk, Rejected


async def known_stages(desk: Desk) -> tuple[frozenset[str], bool]:
    """Return the names of all stages that have a section, and whether that is sure to be all."""
    try:
        rows = await desk.ask(overlay())
    except Rejected:
        return desk.access.stages, False
    return desk.access.stages | {stage for row in rows if (stage := stage_of(row[0]))}, desk.access.complete
