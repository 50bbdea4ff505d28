from rig.api import ArmVerdict as ArmVerdict
from rig.api import Comparison as Comparison
from rig.api import ConversationScore as ConversationScore
from rig.api import PlayedArm as PlayedArm
from rig.api import PlayedConversation as PlayedConversation
from rig.api import PlayedStep as PlayedStep
from rig.api import RecordTable as RecordTable
from rig.api import RigError as RigError
from rig.api import Run as Run
from rig.api import Store as Store
from rig.api import VerdictKind as VerdictKind
from rig.api import open as open
from rig.api import run as run

__version__: str
DISTRIBUTION: str
