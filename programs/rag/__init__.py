"""The methods for questions with options: HCQR and what it is compared with."""
