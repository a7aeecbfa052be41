"""Functions whose derivative is taken as a whole, recognised in what they are computed by."""
