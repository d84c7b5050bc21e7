"""Stands for `lerobot.utils.constants` of LeRobot 0.6.1."""

ACTION = "action"
OBS_STR = "observation"
OBS_ENV_STATE = f"{OBS_STR}.environment_state"
OBS_STATE = f"{OBS_STR}.state"
OBS_IMAGE = f"{OBS_STR}.image"
OBS_IMAGES = f"{OBS_IMAGE}s"
