"""The line protocol over which SDKs in other languages use this program. The binary's side."""
