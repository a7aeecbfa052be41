import jax, jax.numpy as jnp
def outer(x):
    def inner(y): return jnp.sum(y**3*x*x*jnp.arange(5.))+jnp.sum(jnp.cumsum(jnp.sin(x)))
    j=jax.jit(inner,keep_unused=True)
    t=j.trace(jax.ShapeDtypeStruct((5,),jnp.float32))
    print(t.jaxpr, t.jaxpr.consts, [k for k in dir(t) if not k.startswith("__")])
    print(getattr(t,"_consts",None), getattr(t,"_params",{}).keys() if hasattr(t,"_params") else None)
    l=t.lower(); print(l.as_text()[:600]); print([k for k in dir(l._lowering)], l._lowering.compile_args.keys(), getattr(l._lowering,"const_args",None))
    print(l._lowering.const_args)
    return x.sum()
jax.jit(outer)(jnp.ones(5))
