"""Principal components and their kin."""
