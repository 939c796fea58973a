"""Make the data that benchmarks, studies, tests and training use."""
