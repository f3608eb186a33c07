"""Tables and plots of a finished run."""
