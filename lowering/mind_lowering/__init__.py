"""From our dialects to forms that other systems run."""
