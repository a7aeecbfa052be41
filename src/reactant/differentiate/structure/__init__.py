"""Which elements of results depend on which elements of arguments, and colouring."""
