"""Redshifts, masses and dust of galaxies from their colours: a NumPy log-density under blackjax's NUTS."""
