"""Rules from settings files, read anew for each session, and rules that a person chose to keep."""

from hilt.adapters.permission_file.edit import add_allow
from hilt.adapters.permission_file.reading import read_settings, rules_of
from hilt.adapters.permission_file.source import PermissionFiles, RuleFile

__all__ = ["PermissionFiles", "RuleFile", "add_allow", "read_settings", "rules_of"]
