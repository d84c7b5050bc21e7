"""The front's side of session processes: starting, linking, limiting and watching them."""
