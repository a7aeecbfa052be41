"""What rules ask: contents of constants, parts, masks, views, costs of a target."""
