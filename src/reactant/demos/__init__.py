"""What `reactant demo` runs."""
