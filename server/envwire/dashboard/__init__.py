"""The live page: watches servers and farms, and shows them in a browser. `envwire dashboard` serves it."""
