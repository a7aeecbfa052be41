"""A branched Hodgkin-Huxley neuron of jaxley's, fitted by gradients to what electrodes have recorded."""
