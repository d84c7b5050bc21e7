"""The front's side of a session process: started, asked over a link, limited and watched."""
