"""Programs for several devices: how arrays lie on a mesh, and which of their parts have to move."""
