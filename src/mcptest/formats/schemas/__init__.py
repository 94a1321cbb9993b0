"""JSON Schemas of the file formats, for editors: made of the tables that the loaders read with."""
