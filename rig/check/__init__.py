"""Whether conversations are what they claim to be: their structure, their calls, their recorded responses."""

from rig.check.directory import Report, check_directory
from rig.check.faults import Fault
from rig.check.record import record_directory
from rig.check.replay import Difference
from rig.check.rules import RULES, SuiteRules

__all__ = ["RULES", "Difference", "Fault", "Report", "SuiteRules", "check_directory", "record_directory"]
