"""Official releases in, files of the data layout out; run once per release."""
