"""`grad`, `value_and_grad`, `jvp`, `vjp`, `linearize`, `jacobian`, `hessian`, `hvp`, `check_derivatives`, and what a
program says about its own derivative: `custom_derivative`, `stop_gradient`, `checkpoint`, `checkpointed`.

A derivative is a function like any other. Called inside a compiled function it puts a request into the module
(`differentiate.requests`); called from outside it is compiled as a function of its own. A function that writes into its
arguments is a function to its result *and* the final contents of what it writes; its derivatives leave the caller's
arrays as they are.

Complex numbers: tangents are complex; gradients pair with them as Re(sum(g * t)), so that the gradient of a real
function of z = x + iy is df/dx - i df/dy (jax's convention); a holomorphic function has its complex derivative.
"""
from reactant.derivatives.checking import DerivativeCheck, check_derivatives
from reactant.derivatives.custom import CustomDerivative, custom_derivative
from reactant.derivatives.gradients import Derivative, grad, value_and_grad
from reactant.derivatives.marks import checkpoint, checkpointed, stop_gradient
from reactant.derivatives.matrices import hessian, jacobian
from reactant.derivatives.products import hvp, jvp, linearize, vjp

__all__ = ["CustomDerivative", "Derivative", "DerivativeCheck", "check_derivatives", "checkpoint", "checkpointed",
           "custom_derivative", "grad", "hessian", "hvp", "jacobian", "jvp", "linearize", "stop_gradient",
           "value_and_grad", "vjp"]
