"""Models that only remember: lookup tables, and straight lines between samples."""
