"""Read and write YAML and JSON documents, with positions for diagnostics."""
