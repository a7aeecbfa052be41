"""Numbers, element by element: arithmetic, logic, conversion, constants."""
