"""Runs benchmarks under several configurations alternately and compares them by medians of ratios."""
