"""The keys of ``[pepsi-ingress]``, each declared once."""

from dataclasses import dataclass

from pepsi.config.option import endpoints, stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingress:
    """``[pepsi-ingress]``: the SMTP door."""

    listen: tuple[str, ...] = endpoints("tcp:25", doc="Where SMTP clients are listened for.")
    entry_stage: str = stage(required=True, doc="Where a message begins that was accepted.")
