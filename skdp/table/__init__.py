"""What a fit is given as a table of rows: schema, target, categories and privacy IDs."""
