"""abduce: retrieval-ready queries from explicit hypotheses about what the evidence means.

The parts live in four packages, lowest first: ``abduce.signatures`` (what a model call is asked and
the typed answer it gives), ``abduce.retrievers`` (query to ranking), ``abduce.programs`` (the
methods, as ``dspy.Module``) and ``abduce.eval`` (data, experiments, command line).
Nothing is imported here, so that ``import abduce`` costs nothing.
"""

__version__ = "0.1.0"
