"""The types of every AHP channel, one module per subject, under the names that the protocol gives them.

Optional fields are `None` when absent. A field whose values are an open enumeration is a `str` annotated with
its `StrEnum`: values that are newer than this version are kept as they are.
"""

from serai.ahp.types.channels import *
from serai.ahp.types.common import *
from serai.ahp.types.customizations import *
from serai.ahp.types.messages import *
from serai.ahp.types.session import *
from serai.ahp.types.tools import *
