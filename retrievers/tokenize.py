"""The shared tokenizer; it lives with the dimensions, which the retrievers stand on."""

from ..signatures.tokenize import FUNCTION_WORDS, tok, tok_set

__all__ = ["FUNCTION_WORDS", "tok", "tok_set"]
