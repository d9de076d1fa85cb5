"""Every action of every channel, and the envelope it travels in."""

from serai.ahp.actions.base import *
from serai.ahp.actions.changeset import *
from serai.ahp.actions.envelope import *
from serai.ahp.actions.root import *
from serai.ahp.actions.session import *
from serai.ahp.actions.terminal import *
from serai.ahp.actions.toolcalls import *
from serai.ahp.actions.watch import *
