"""The shared types of all layers, as the two pages about the relay define them.

    record            the base of all records; JSON in and out, and its bounds
    identity          participants, and their status
    events            the names of all session events, and a record for each
    capabilities      the capabilities that a session declares
    negotiation       checks of requests against capabilities, and of sessions before they take part
    messages          the messages of participants
    delivery          modes, contexts and receipts
    delivery_record   the record of a delivery, and its change by a receipt
    workspace         the contents of a workspace, as callers see them
    relay_calls       the relay's methods, with their parameters and results
    session           the protocols: sessions and adapters

These modules have values and rules only: nothing here waits, reads a clock or does I/O. Their public names
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
