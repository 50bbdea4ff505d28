"""Whether conversations are what they claim to be: their structure, their calls, their recorded responses."""

from rig.methods.tooltalk.check.directory import DirectoryReport, check_directory, record_directory
from rig.methods.tooltalk.check.faults import Defect
from rig.methods.tooltalk.check.own import check_own, record_own
from rig.methods.tooltalk.check.replay import ResponseDifference

__all__ = [
    "Defect",
    "DirectoryReport",
    "ResponseDifference",
    "check_directory",
    "check_own",
    "record_directory",
    "record_own",
]
