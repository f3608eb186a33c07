"""The subcommands of ``abduce``, one a file."""
