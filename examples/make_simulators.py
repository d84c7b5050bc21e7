"""Writes the simulators of docs/tutorials/on-demand.md as wheels: two need versions of one package that conflict."""

import zipfile
from pathlib import Path

ENVIRONMENT = """
import envwire.envs as gym
import physics


class Arm(gym.Env):
    observation_space = gym.spaces.Box(-10.0, 10.0, (1,), float)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), float)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-1.0, 1.0, 1)
        return self.position, {"physics": physics.VERSION}

    def step(self, action):
        self.position = physics.move(self.position, action)
        return self.position, -float(abs(self.position[0])), False, False, {}


gym.register(id="lab/NAME-v0", entry_point=Arm, max_episode_steps=100)
"""
NONE = (
    "class physics:\n    VERSION = 0\n    move = staticmethod(lambda position, action: -position)"
)
PHYSICS = "VERSION = {0}\ndef move(position, action):\n    return position + action / {0}\n"


def write_wheel(name: str, version: str, source: str, *needs: str) -> None:
    """Writes a package of one module as a wheel."""
    about = f"{name}-{version}.dist-info"
    metadata = [
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {each}" for each in needs),
    ]
    with zipfile.ZipFile(f"wheels/{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", source)
        wheel.writestr(f"{about}/METADATA", "\n".join(["Metadata-Version: 2.1", *metadata, ""]))
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")


Path("wheels").mkdir(exist_ok=True)
write_wheel("physics", "1.0", PHYSICS.format(1))
write_wheel("physics", "2.0", PHYSICS.format(2))
write_wheel("pusher", "1.0", ENVIRONMENT.replace("NAME", "Pusher"), "physics==1.0")
write_wheel("reacher", "1.0", ENVIRONMENT.replace("NAME", "Reacher"), "physics==2.0")
write_wheel("walker", "1.0", ENVIRONMENT.replace("NAME", "Walker").replace("import physics", NONE))
