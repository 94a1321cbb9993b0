"""Test files of one format, written in another. Pure: values in, values out."""
