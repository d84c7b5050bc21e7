"""Values as messages and back."""
