"""Classes and functions that environments and wrappers share."""

from envwire.envs.utils.colorize import colorize
from envwire.envs.utils.ezpickle import EzPickle
from envwire.envs.utils.record_constructor import RecordConstructorArgs

__all__ = ["EzPickle", "RecordConstructorArgs", "colorize"]
