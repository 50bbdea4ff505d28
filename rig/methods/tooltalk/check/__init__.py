"""Whether conversations are what they claim to be: their structure, their calls, their recorded responses."""

from rig.methods.tooltalk.check.directory import Report, check_directory, record_directory
from rig.methods.tooltalk.check.faults import Fault
from rig.methods.tooltalk.check.own import check_own, record_own
from rig.methods.tooltalk.check.replay import Difference

__all__ = ["Difference", "Fault", "Report", "check_directory", "check_own", "record_directory", "record_own"]
