"""The samplers that the paper compares; they live with the experiments that rerun its figures."""

from veilspan.cli.experiments import experiment

METHODS = experiment("riemannian.paper_samplers").METHODS
