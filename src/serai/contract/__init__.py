"""The words that all layers share, as the two pages about the relay define them.

    record            what all records have in common; JSON in and out
    identity          who takes part, and what they do right now
    events            the names of all session events, and a record for each
    capabilities      what a session declares that it can do
    negotiation       what may therefore be asked of it, and what is checked before it may take part
    messages          what participants send each other
    delivery          modes, contexts and receipts
    delivery_record   what is kept of a delivery, and how a receipt changes it
    workspace         what there is in a workspace, as callers are told of it
    relay_calls       the relay's methods, with what each takes and gives back
    session           the protocols: sessions and adapters

All of it is values and rules. Nothing here waits, reads a clock or touches the world. What the modules define
can be imported from here.
"""

from __future__ import annotations

from serai.contract.capabilities import *
from serai.contract.delivery import *
from serai.contract.delivery_record import *
from serai.contract.events import *
from serai.contract.identity import *
from serai.contract.messages import *
from serai.contract.negotiation import *
from serai.contract.record import *
from serai.contract.relay_calls import *
from serai.contract.session import *
from serai.contract.workspace import *
