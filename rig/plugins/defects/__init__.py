"""Tasks of public benchmarks that are known to be wrong: what methods of these benchmarks share."""
