"""Orders to servers over their registrations: about slots, and what operators ask for."""
