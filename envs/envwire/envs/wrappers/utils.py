"""Functions that wrappers share; the module path is Gymnasium's."""

from envwire.envs.wrappers.running_mean import RunningMeanStd, update_mean_var_count_from_moments
from envwire.envs.wrappers.wrapped_spaces import rescale_box
from envwire.envs.wrappers.zero_value import create_zero_array

__all__ = [
    "RunningMeanStd",
    "create_zero_array",
    "rescale_box",
    "update_mean_var_count_from_moments",
]
