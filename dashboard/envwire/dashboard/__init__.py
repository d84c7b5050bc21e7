"""The dashboard: watches servers and farms and shows them on a live page. `envwire dashboard` serves it."""
