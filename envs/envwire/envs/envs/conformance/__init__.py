"""The environments of the conformance suite, specified in docs/conformance.md.

They are registered when this package is imported, and a server imports it only when its operator names
``Conformance/...``: no pattern such as ``*`` lists them.
"""

from envwire.envs.envs.registration import register

_HERE = "envwire.envs.envs.conformance"

register("Conformance/Counter-v0", entry_point=f"{_HERE}.values:CounterEnv")

for _id, _entry_point in (
    ("Big", "values:BigEnv"),
    ("Crash", "failing:CrashEnv"),
    ("Echo", "values:EchoEnv"),
    ("EverySpace", "values:EverySpaceEnv"),
    ("Odd", "failing:odd"),
    ("Raise", "failing:RaiseEnv"),
    ("Slow", "failing:SlowEnv"),
):
    register(
        f"Conformance/{_id}-v0",
        entry_point=f"{_HERE}.{_entry_point}",
        order_enforce=False,
        disable_env_checker=True,
    )
