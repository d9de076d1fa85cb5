"""The words that all layers share, as the two pages about the relay define them.

All of it is values and rules. Nothing here waits, reads a clock or touches the world. What the modules define
can be imported from here.
"""

from __future__ import annotations

from serai.contract.capabilities import *
from serai.contract.delivery import *
from serai.contract.events import *
from serai.contract.identity import *
from serai.contract.messages import *
from serai.contract.negotiation import *
from serai.contract.record import *
from serai.contract.session import *
