"""Orders to servers over their registrations: about slots, and the calls of operators."""
