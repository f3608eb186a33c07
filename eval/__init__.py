"""Everything that meets the outside world: data, experiments, models, the command line."""
