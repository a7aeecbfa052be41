"""The operations that short random JAX programs are made of (`short_jax`), as text with holes.

Holes: s square matrix, m matrix, v vector, t number, f floats, r floats of rank 1 and more, c complex, i integers, j
vector of integers, b bools, x anything of rank 1 and more, h batch of matrices, z floats or complex, y like the first
hole; a digit tells two apart, and the same hole twice is the same value. N small integer, D dimension, S constant of
floats, K place, known at run time or before. A semicolon between blanks separates them.
"""

STRUCTURE = """
jnp.eye({s}.shape[0], dtype={s}.dtype) ; jnp.eye({m}.shape[0], {m}.shape[1], {N}, dtype={m}.dtype) ; jnp.tril({m}) ;
jnp.triu({m}) ; jnp.tril({m}, {N}) ; jnp.triu({m}, {N}) ; jnp.tril({h}, -1) ; jnp.diag({v}) ; jnp.diag({v}, {N}) ;
jnp.diag({m}) ; jnp.diag({m}, {N}) ; jnp.diagonal({h}, axis1=1, axis2=2) ; jnp.diag(jnp.diag({s})) ; jnp.trace({m}) ;
jnp.trace({s} @ {s2}) ; jnp.eye({s}.shape[0], dtype={s}.dtype) * {t} ; jnp.linalg.inv({s}) ; jnp.linalg.det({s}) ;
jnp.linalg.slogdet({s})[1] ; jnp.linalg.slogdet({s})[0] ; jnp.linalg.solve({s}, {v}) ; jnp.linalg.solve({s}, {m}) ;
jnp.linalg.inv({h}) ; jnp.linalg.det({h}) ; jnp.linalg.cholesky({s} @ {s}.T + jnp.eye({s}.shape[0], dtype={s}.dtype) *
{s}.shape[0]) ; jnp.linalg.cholesky({s}) ; jnp.linalg.cholesky(jnp.diag({v})) ; jsl.solve_triangular({s}, {v},
lower=True) ; jsl.solve_triangular({s}, {m}) ; jsl.solve_triangular({s}, {s2}, trans=1) ; jsl.solve_triangular({s},
{m}, lower=True, unit_diagonal=True) ; jsl.cho_solve(({s}, True), {v}) ; jsl.lu_solve(jsl.lu_factor({s}), {v}) ;
jnp.linalg.matrix_power({s}, {N}) ; jsl.block_diag({m}, {s}) ; jnp.linalg.inv(jnp.eye({s}.shape[0], dtype={s}.dtype) *
2 + jnp.outer({v}, {v2})) ; jnp.linalg.solve(jnp.tril({s}), {v}) ; jnp.linalg.slogdet(jnp.tril({s}))[1] ;
jnp.linalg.det(jnp.diag({v})) ; jnp.linalg.solve(jnp.diag({v}), {m}) ; jnp.linalg.inv(jnp.diag({v})) ;
jnp.linalg.inv(jnp.triu({s})) ; jnp.kron({m}, {m2}) ; jnp.kron({v}, {v2}) ; jnp.kron(jnp.eye(2, dtype={m}.dtype), {m})
; jnp.outer({v}, {v2}) ; jax.nn.one_hot({j}, {N} + 3, dtype={v}.dtype) ; jax.nn.one_hot({j}, {m}.shape[0],
dtype={m}.dtype) @ {m} ; jnp.vander({v}, 4) ; jsl.toeplitz({v}) ; jsl.toeplitz({v}) @ {v} ; jnp.fill_diagonal({s}, {t},
inplace=False) ; {s}.at[jnp.diag_indices({s}.shape[0])].add({t}) ; {s} - jnp.tril({s}) ; {s} * jnp.eye({s}.shape[0],
dtype={s}.dtype)
"""

PRODUCTS = """
{m} @ {m2} ; {m} @ {v} ; {v} @ {m} ; {m}.T @ {m2} ; {m} @ {m}.T ; {s} @ {s2} ; {h} @ {h2} ; {h} @ {v} ; {v} @ {v2} ;
jnp.einsum('ij,jk->ki', {m}, {m2}) ; jnp.einsum('ij,ij->i', {m}, {m2}) ; jnp.einsum('ij,i->j', {m}, {v}) ;
jnp.einsum('ii->i', {s}) ; jnp.einsum('ii', {s}) ; jnp.einsum('i,j->ij', {v}, {v2}) ; jnp.einsum('bij,bjk->bik', {h},
{h2}) ; jnp.einsum('ij,jk,kl->il', {m}, {m2}, {m3}) ; jnp.einsum('bij,bkj->bik', {h}, {h2}) ; jnp.einsum('i,ij,j', {v},
{s}, {v2}) ; jnp.einsum('bii->b', {h}) ; jnp.einsum('ij,kj->ik', {m}, {m2}) ; jnp.tensordot({h}, {h2}, 2) ;
jnp.einsum('ij,j->ij', {m}, {v}) ; jnp.vdot({v}, {v2}) ; jnp.convolve({v}, {v2}) ; jnp.convolve({v}, {v2}, mode='same')
; jnp.correlate({v}, {v2}, mode='full') ; jnp.cross({r}[..., :3], {r}[..., :3]) ; jnp.einsum('ij,ji', {s}, {s2}) ; {m}
@ jnp.ones({m}.shape[1], {m}.dtype) ; lax.conv_general_dilated({m}[None], {m2}[None], (1,), [(1, 1)]) ;
lax.conv_general_dilated({m}[None], jnp.flip({m}[None], 2)[:, :, :2], (2,), [(0, 1)], lhs_dilation=(2,)) ;
lax.conv_general_dilated({m}[None], {m}[:, None, :2], (1,), [(1, 2)], rhs_dilation=(2,),
feature_group_count={m}.shape[0]) ; lax.conv_general_dilated({m}[None, None], {m2}[None, None, :3, :3], (2, 1), [(1,
1), (-1, 2)]) ; lax.conv_general_dilated({m}[None, None], {m2}[None, None, :2, :2], (1, 2), 'SAME', lhs_dilation=(2,
1)) ; lax.conv_general_dilated({h}[:, None], {m}[None, None, :2, :2], (1, 1), 'VALID', rhs_dilation=(1, 2)) ;
lax.conv_general_dilated({m}[:, None], jnp.ones((1, 1, 2), {m}.dtype), (1,), 'VALID')
"""

MOVES = """
jnp.roll({x}, {N}) ; jnp.roll({x}, {N}, axis={D}) ; jnp.roll({x}, {K}, axis={D}) ; jnp.flip({x}) ; jnp.flip({x}, {D}) ;
{x}.T ; lax.pad({v}, {v}[0], [({N}, {N2}, 1)]) ; lax.pad({v}, jnp.zeros((), {v}.dtype), [(-1, {N}, 0)]) ; lax.pad({m},
jnp.zeros((), {m}.dtype), [({N}, -1, 1), (0, {N2}, 0)]) ; jnp.pad({r}, 1, mode='edge') ; jnp.pad({r}, 1) ; lax.pad({m},
jnp.ones((), {m}.dtype), [(0, -1, 2), (-1, 1, 1)]) ; jnp.pad({v}, 1, mode='wrap') ; jnp.pad({v}, 1, mode='reflect') ;
jnp.concatenate([{x}, {x}], {D}) ; jnp.concatenate([{r}, {r2}], {D}) ; jnp.stack([{x}, {y}], {D}) ; jnp.stack([{v},
{v2}]) ; jnp.repeat({x}, 2) ; jnp.repeat({x}, 3, axis={D}) ; jnp.tile({x}, 2) ; jnp.tile({x}, (2, 1)) ; {x}.reshape(-1)
; {x}[::-1] ; {x}[..., 1:] ; {x}[..., :-1] ; {x}[..., ::2] ; {x}[1:, None] ; {m}[:, 0] ; {m}[0] ; {m}[-1] ; {x}[{K}] ;
{x}[..., {K}] ; lax.dynamic_slice_in_dim({x}, {K}, 1, {D}) ; lax.dynamic_slice_in_dim({x}, {K}, {x}.shape[0] // 2 + 1)
; lax.dynamic_update_slice_in_dim({x}, {x}[:1], {K}, 0) ; lax.dynamic_update_slice({m}, {m2}[:1, :1], ({K}, {K2})) ;
jnp.take({x}, {j}) ; jnp.take({x}, {j}, axis={D}) ; jnp.take({x}, {j}, axis={D}, mode='clip') ; jnp.take({x}, {j},
axis=0, mode='wrap') ; {x}[{j}] ; {x}[..., {j}] ; {m}[{j}, {j}] ; {m}[{j}[:, None], {j}] ; jnp.take({x}, {j}, axis=0,
mode='fill', fill_value=1) ; jnp.take_along_axis({m}, jnp.argsort({m}, axis={D}), {D}) ; {x}.at[{j}].get(mode='fill',
fill_value=0) ; {x}.at[{j}].set({x}[0]) ; {x}.at[{j}].add(1) ; {x}.at[{j}].mul(2) ; {x}.at[{j}].max(1) ;
{x}.at[{j}].min(0) ; {m}.at[{j}, 0].add({t}) ; {m}.at[:, {j}].set({t}) ; {r}.at[{j}].add({r2}[0], mode='clip') ;
{m}.at[{j}].add({m}[{j}]) ; {v}.at[{j}].set({j}.astype({v}.dtype), mode='drop') ; {v}.at[::2].add({t}) ;
{v}.at[1:].mul({t}) ; {x}.at[{K}].set({x}[0]) ; {m}.at[1:, :-1].set({t}) ; {m}.at[{K}, {K2}].add({t}) ;
{x}.at[-1].set({x}[0]) ; {m}.at[:, 0].set({m}[:, -1]) ; jnp.zeros_like({r}).at[{j}].add({r}[0]) ;
jax.ops.segment_sum({v}, {j}, {N} + 2) ; jax.ops.segment_max({v}, {j}, 3) ; jnp.bincount({j}, length=5) ;
jnp.searchsorted(jnp.sort({v}), {v2}) ; jnp.moveaxis({h}, 0, {D}) ; jnp.swapaxes({x}, 0, -1) ; jnp.squeeze({x}[None]) ;
jnp.broadcast_to({x}, (2, *{x}.shape)) ; jnp.split({x}, 1)[0] ; jnp.array_split({v}, 2)[1] ; jnp.rot90({m}) ;
jnp.roll({m}, ({N}, 1), (0, 1)) ; jnp.meshgrid({v}, {v2})[0] ; jnp.ravel({m}.T) ; {m}.T.reshape({m}.shape)
"""

SORTS = """
jnp.sort({x}, axis={D}) ; jnp.argsort({x}, axis={D}) ; jnp.argsort(-{r}) ; lax.top_k({r}, 1)[0] ; lax.top_k({r}, 2)[1]
; jnp.sort({v})[::-1] ; {v}[jnp.argsort({v})] ; jnp.argsort(jnp.argsort({v})) ; jnp.median({r}) ; jnp.quantile({r},
0.3) ; jnp.sort({m}.T, axis={D}) ; -jnp.sort(-{r}) ; jnp.sort(jnp.sort({x})) ; jnp.max(jnp.sort({r})) ;
jnp.sort({r})[..., 0] ; jnp.sort({v})[-1] ; jnp.argmax({x}, {D}) ; jnp.argmin({x}, {D}) ; jnp.argmax({x}) ;
lax.sort_key_val({v}, {v2})[1] ; jnp.unique({v}, size=4) ; lax.sort(({v}, {v2}), num_keys=2)[1] ; jnp.lexsort(({v},
{v2})) ; jnp.partition({v}, 1)[1] ; jnp.sort(jnp.stack([{v}, {v2}]), axis=0)
"""

SUMS = """
jnp.sum({x}, {D}) ; jnp.sum({x}) ; jnp.mean({f}) ; jnp.max({r}, {D}) ; jnp.min({r}) ; jnp.prod({r}, {D}) ; jnp.std({r})
; jnp.var({r}, {D}) ; jnp.any({b}, {D}) ; jnp.all({b}) ; jnp.count_nonzero({x}) ; jnp.nansum({r}, {D}) ;
jnp.nanmax({r}) ; jnp.ptp({r}) ; jnp.linalg.norm({r}) ; jnp.cumsum({x}, {D}) ; jnp.cumprod({r}, {D}) ; lax.cummax({r},
0) ; lax.cummin({r}, 0, reverse=True) ; lax.cumlogsumexp({r}, 0) ; lax.cumsum({r}, 0, reverse=True) ;
jnp.cumsum({v}[::-1])[::-1] ; jnp.diff({r}) ; jnp.diff(jnp.cumsum({r}, -1)) ; jnp.cumsum({v})[-1] ;
lax.associative_scan(jnp.add, {r}) ; lax.associative_scan(jnp.maximum, {r}) ; lax.associative_scan(jnp.multiply, {r},
reverse=True) ; lax.reduce_window({v}, 0.0, lax.add, (3,), (1,), 'SAME') ; lax.reduce_window({v}, -jnp.inf, lax.max,
(2,), (2,), 'VALID') ; lax.reduce_window({m}, -jnp.inf, lax.max, (2, 2), (1, 2), 'SAME') ; lax.reduce_window({m}, 0.0,
lax.add, (1, 3), (1, 1), 'SAME') ; lax.reduce_window({v}, jnp.inf, lax.min, (3,), (1,), [(2, 0)], window_dilation=(2,))
; jnp.sum(jnp.diag({v})) ; jnp.average({r}, weights={r}) ; jax.nn.softmax({r}, {D}) ; jax.nn.log_softmax({r}) ;
jax.nn.logsumexp({r}, {D}) ; jnp.sum({b}, {D}) ; jnp.mean({b}) ; jnp.sum({m} * {v}, 1) ; lax.reduce({r}, jnp.ones((),
{r}.dtype), lax.mul, (0,)) ; jnp.max(jnp.abs({r}), {D}) ; jnp.sum({m} @ {m2}) ; jnp.mean({m} @ {m2}, 0) ;
jax.nn.softmax({m} @ {m}.T) @ {m} ; jnp.sum(jnp.where({b}, {r}, 0)) ; jnp.sum(jnp.outer({v}, {v2})) ;
jnp.max(jnp.concatenate([{v}, {v2}]))
"""

ELEMENTS = """
{f} + {y} ; {x} * {y} ; {x} - {y} ; {f} / {y} ; {f} + {t} ; {f} * {S} ; {x} * 2 ; {f} / 2 ; -{f} ; {f} - {f} ; {x} +
{x} ; {f} * 0 ; {f} / {f} ; {m} * {v} ; jnp.maximum({x}, {y}) ; jnp.minimum({f}, {S}) ; jnp.maximum({f}, 0) ;
jnp.clip({f}, -1, 1) ; jnp.clip({x}, 1, 2) ; jnp.sign({f}) ; jnp.abs({f}) ; {m} + {v} ; jnp.where({b}, {f}, {y}) ;
jnp.where({f} > 0, {f}, 0) ; jnp.where({f} == {f}, {f}, 1) ; jnp.where(jnp.isnan({f}), {t}, {f}) ; jnp.nan_to_num({f})
; jnp.where({f} > {y}, {f}, {y}) ; jnp.where({f} < 0, -{f}, {f}) ; jnp.where({b}, {t}, {S}) ; jnp.select([{f} > 1, {f}
< 0], [{f}, -{f}], 0) ; {f} > {y} ; jnp.exp({f}) ; jnp.log({f}) ; jnp.sqrt({f}) ; jnp.sqrt(jnp.abs({f})) ; {f} ** 2 ;
{f} ** 3 ; {f} ** 0.5 ; {f} ** -1 ; {f} ** {y} ; jnp.tanh({f}) ; jnp.sin({f}) ; jnp.log(jnp.exp({f})) ;
jnp.exp(jnp.log({f})) ; jnp.log1p({f}) ; jnp.expm1({f}) ; jnp.hypot({f}, {y}) ; jnp.arctan2({f}, {y}) ; jnp.cbrt({f}) ;
lax.rsqrt({f}) ; jax.nn.relu({f}) ; jax.nn.gelu({f}) ; jax.nn.sigmoid({f}) ; jax.nn.softplus({f}) ; jax.nn.silu({f}) ;
jax.nn.leaky_relu({f}) ; jax.nn.elu({f}) ; jnp.sinc({f}) ; jnp.floor({f}) ; jnp.round({f}) ; jnp.ceil({f}) ; {f} % {y}
; {f} // {y} ; jnp.mod({f}, {S}) ; jnp.fmod({f}, {y}) ; jnp.isnan({f}) ; jnp.isfinite({f}) ; jnp.copysign({f}, {y}) ;
jnp.sqrt({f} * {f}) ; jnp.abs({f}) * jnp.sign({f}) ; jnp.nextafter({f}, {y}) ; jnp.logaddexp({f}, {y}) ;
jnp.square({f}) ; jnp.reciprocal({f}) ; jnp.signbit({f}) ; jnp.heaviside({f}, {y}) ; {f}.astype(jnp.int32) ;
{x}.astype(jnp.float32) ; {f}.astype(jnp.bfloat16).astype({f}.dtype) ; {f}.astype(jnp.float16) ; {x}.astype(bool) ;
{i}.astype(jnp.float32) ; {i}.astype(jnp.uint8) ; {f} + 0.0 ; {f} - 0.0 ; 0.0 - {f} ; {f} * 1 ; {f} * -1 ; 1 / {f} ;
jnp.frexp({f})[0] ; jnp.ldexp({f}, {N}) ; jax.scipy.special.erf({f}) ; ({f} > 0) & ({f} < 1)
"""

WHOLE = """
{i} + {y} ; {i} * {y} ; {i} // {y} ; {i} % {y} ; {i} // 3 ; {i} % 4 ; {i} // -2 ; {i} % -3 ; lax.div({i}, {y}) ;
lax.rem({i}, {y}) ; -{i} ; jnp.abs({i}) ; jnp.sign({i}) ; ~{i} ; {i} << 2 ; {i} >> 1 ; {i} << {y} ; {i} >> {y} ;
lax.shift_right_logical({i}, {y}) ; {i} & {y} ; {i} | {y} ; {i} ^ {y} ; {i} & 3 ; {i} ^ {i} ; lax.population_count({i})
; lax.clz({i}) ; {i} ** 2 ; {i} - {i} ; ({i} * 4) // 4 ; ({i} // 4) * 4 ; ({i} << 3) >> 3 ; ({i} + 1) - {i} ; {i} * 0 ;
jnp.minimum({i}, 2) ; {i} > {y} ; {i} == {y} ; {i} * {i} >= 0 ; {i} + 1 > {i} ; abs({i}) >= 0 ; jnp.where({i} > 0, {i},
-{i}) ; jnp.clip({i}, 0, 3) ; lax.bitcast_convert_type({f}, jnp.int32) ; {b} & {y} ; {b} | {y} ; ~{b} ; {b} ^ {y} ; {b}
== {y} ; jnp.gcd({i}, {y}) ; {i} % 2 == 0 ; -(-{i}) ; jnp.divmod({i}, {y})[1]
"""

COMPLEX = """
{c} * {y} ; {c} / {y} ; jnp.conj({c}) ; {c}.real ; {c}.imag ; jnp.abs({c}) ; jnp.angle({c}) ; jnp.exp({c}) ;
jnp.sqrt({c}) ; {c} * jnp.conj({c}) ; {c} + {c} ; lax.complex({f}, {y}) ; {c} ** 2 ; 1j * {c} ; jnp.log({c}) ; {c} ==
{y} ; jnp.square({c}) ; jnp.fft.fft({z}) ; jnp.fft.ifft({z}) ; jnp.fft.rfft({r}) ; jnp.fft.irfft({c}) ;
jnp.fft.fft2({z}) ; jnp.fft.fftshift({z}) ; jnp.fft.ifftshift({z}) ; jnp.fft.ifft(jnp.fft.fft({z})) ;
jnp.fft.irfft(jnp.fft.rfft({r}), {r}.shape[-1]) ; jnp.fft.ifft(jnp.fft.fft({v}) * jnp.fft.fft({v2})).real ;
jnp.fft.irfft(jnp.fft.rfft({v}) * jnp.fft.rfft({v2}), {v}.shape[0]) ; jnp.fft.fft({z}, axis=0) ; jnp.fft.rfft({v}, 8) ;
jnp.fft.fft({z}).real ; jnp.fft.rfft2({m}) ; jnp.fft.fft(jnp.conj({c})) ; jnp.conj(jnp.fft.fft({c})) ;
jnp.sum(jnp.abs(jnp.fft.fft({z})) ** 2) ; jnp.fft.fft({z})[..., 0] ; jnp.fft.fftn({z}) ; jnp.fft.fft(jnp.roll({v},
{N})) ; jnp.fft.fft(jnp.flip({v})) ; jnp.conj({c}).T @ {c} ; {c} @ {c} ; jnp.sum({c}, {D}) ; jnp.vdot({c}, {y}) ;
jnp.real({c} * {y}) ; jnp.fft.hfft({c}) ; jnp.isnan({c})
"""

LOOPS = """
lax.scan(lambda c, r: (c * 0.5 + r, c), {m}[0], {m})[1] ; lax.scan(lambda c, r: (c + r, c * r), {m}[0], {m})[0] ;
lax.scan(lambda c, r: (jnp.maximum(c, r), r - c), {v}[0], {v}, reverse=True)[1] ; lax.scan(lambda c, r: (c,
jnp.sum(r)), 0.0, {m})[1] ; lax.scan(lambda c, r: (r, c), {v}[0], {v})[1] ; lax.scan(lambda c, r: (r, c + r), {m}[0],
{m})[1] ; lax.scan(lambda c, r: ({s} @ c, c[0]), {v}, None, length=3)[1] ; lax.fori_loop(0, 3, lambda i, c: c * 0.5 +
i, {f}) ; lax.fori_loop(0, {v}.shape[0], lambda i, c: c.at[i].set({v}[i] * 2), {v2}) ; lax.fori_loop(1, {v}.shape[0],
lambda i, c: c.at[i].add(c[i - 1]), {v}) ; lax.fori_loop(0, {m}.shape[0], lambda i, c: c + {m}[i], {m}[0]) ;
lax.fori_loop(0, {K}, lambda i, c: c + 1, {x}) ; lax.fori_loop(0, {K}, lambda i, c: c.at[i].set(0), {x}) ;
lax.fori_loop({K}, 5, lambda i, c: c.at[i].add({v}[i]), {v}) ; lax.fori_loop(0, 3, lambda i, c: c[::-1], {x}) ;
lax.fori_loop(0, 4, lambda i, c: jnp.roll(c, 1), {x}) ; lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] *
2), (0, {x}))[1] ; lax.while_loop(lambda c: jnp.sum(c) < 9, lambda c: c + 1, jnp.abs({r})) ; lax.while_loop(lambda c:
c[0] < {K}, lambda c: (c[0] + 1, c[1].at[c[0]].set(1)), (0, {x}))[1] ; lax.cond({K} > 1, lambda a: a * 2, lambda a: a +
1, {x}) ; lax.switch({K}, [lambda a: a * 2, lambda a: -a, lambda a: a[::-1]], {r}) ; lax.cond({t} > 0, lambda: {f} *
{t}, lambda: {f}) ; lax.cond({b}.any(), lambda a: jnp.sort(a), lambda a: a, {r}) ; jax.vmap(lambda r: jnp.sort(r) *
r[0])({m}) ; jax.vmap(lambda r: jnp.diag(r))({m}) ; jax.vmap(lambda r, q: jnp.dot(r, q), (1, 0))({m}, {m2}) ;
jax.vmap(lambda a: jnp.linalg.inv(a))({h}) ; jax.vmap(lambda j: lax.dynamic_slice({v}, (j,), (1,)))({j}) ;
jax.vmap(lambda j: {v}.at[j].add(1.0))({j}) ; lax.map(lambda r: jnp.cumsum(r), {m}) ; jax.vmap(lambda r:
lax.fori_loop(0, 3, lambda i, c: c + r[0], r))({m}) ; jax.vmap(lambda r: lax.while_loop(lambda c: c.sum() < 5, lambda
c: c + 1, jnp.abs(r)))({m}) ; jax.vmap(lambda a: lax.cond(a[0] > 0, jnp.sin, jnp.cos, a))({m}) ;
jax.vmap(jnp.outer)({m}, {m}) ; lax.scan(lambda c, i: (c.at[i].add(c[i - 1]), c[i]), {v}, jnp.arange({v}.shape[0]))[0]
; lax.scan(lambda c, r: (lax.dynamic_update_index_in_dim(c, r, 0, 0), c), {v}, {v})[1] ; lax.fori_loop(0, {m}.shape[0],
lambda i, c: c.at[i].set({m}[{m}.shape[0] - 1 - i]), {m}) ; lax.fori_loop(0, 3, lambda i, c: jnp.where({b}, c + 1, c),
{f}) ; lax.fori_loop(0, {m}.shape[0] - 1, lambda i, c: c.at[i + 1].set(c[i] * 0.5 + {m}[i]), {m}) ; lax.fori_loop(0, 3,
lambda i, c: lax.cond(i == 1, lambda a: a * 2, lambda a: a, c), {x}) ; lax.fori_loop(0, {j}.shape[0], lambda i, c:
c.at[{j}[i]].add(1), {v}) ; lax.fori_loop(0, {j}.shape[0], lambda i, c: c + {v}[{j}[i]], {t}) ; lax.scan(lambda c, r:
((c[1], c[0] + r), c[0]), ({v}[0], {v}[-1]), {v})[1] ; lax.fori_loop(0, 4, lambda i, c: (c[1], c[0]), ({x}, {y}))[0] ;
lax.fori_loop(0, {K}, lambda i, c: (c[1], c[0] + c[1]), ({f}, {y}))[1] ; lax.fori_loop(0, {v}.shape[0], lambda i, c:
c.at[i].set(i), {v}) ; lax.fori_loop(0, 3, lambda i, c: c.at[{K}].mul(2), {x})
"""

PARTS = """
lax.dynamic_slice_in_dim(jnp.cumsum({m}, 0), {K}, 1, 1) ; lax.dynamic_slice_in_dim(jnp.sum({h}, {D}), {K}, 2, 0) ;
lax.dynamic_slice_in_dim({m} @ {m2}, {K}, 1, {D}) ; lax.dynamic_slice_in_dim(jnp.sort({m}, 1), {K}, 1, 0) ; ({m} @
{m2})[{K}] ; (jnp.exp({x}) * 2)[{K}] ; lax.dynamic_slice_in_dim(jnp.concatenate([{m}, {m2}], 1), {K}, 1, 0) ;
lax.dynamic_slice_in_dim(jnp.pad({m}, ((0, 0), (1, 2))), {K}, 2, 0) ; lax.dynamic_slice_in_dim(jnp.flip({x}, 0), {K},
2, 0) ; lax.dynamic_slice_in_dim(lax.dynamic_slice_in_dim({v}, {K}, 2), {K2}, 1) ; lax.dynamic_slice_in_dim({v}[1:],
{K}, 1) ; lax.dynamic_slice_in_dim({v}, {K}, 3)[1:] ; lax.dynamic_update_slice_in_dim({v},
lax.dynamic_slice_in_dim({v}, {K}, 2), {K}, 0) ; {x}.at[1:].set({x}[1:]) ; {v}.at[1:3].set(1)[2:] ; {x}[{j}][{j}] ;
{x}[{j}][:2] ; {m}[{j}][:, :1] ; jnp.sum({m}, 1)[{j}] ; ({m} @ {m2})[{j}] ; ({m} @ {m2})[:, {j}] ; ({m} @ {m2})[{j},
{j}] ; jnp.arange(7)[{j}] ; (jnp.sin({x}) + 1)[{j}] ; {x}[{j}].T ; lax.dynamic_slice_in_dim({x}[{j}], {K}, 1) ;
jnp.where({K} > 0, {x}.at[0].set(1), {x}) ; lax.cond({K} > 0, lambda: {x}.at[{K2}].add(1), lambda: {x}) ; jnp.where({K}
> 1, lax.dynamic_update_slice_in_dim({v}, {v}[:1] * 2, {K}, 0), {v}) ; {x}.at[{K}].set(2)[{K2}] ;
{v}.at[{K}].add(1)[::2] ; jnp.flip({x}.at[{K}].set(0)) ; {m}.at[{K}].set(0).T ; {m}.at[:, {K}].add({m2}[:, 0]) ;
jnp.concatenate([jnp.flip({v}), jnp.flip({v2})]) ; jnp.flip({v}) @ jnp.flip({v2}) ; jnp.flip({m}, 1) @ jnp.flip({v}) ;
jnp.exp({m}.T) * {m2}.T ; jnp.sin(jnp.repeat({v}, 3)) ; jnp.sort(jnp.flip({x})) ; jnp.flip(jnp.sort({x})) ;
jnp.sort({m}.T, 0).T ; lax.sort_key_val({v}, {v2})[1] + lax.sort_key_val({v}, {v})[1] ; jnp.sort({i})[0] ;
jnp.sum(jnp.sort({i})) ; lax.top_k({v}, 3)[0][:2] ; lax.top_k({v}, 3)[1][:1] ; jnp.max(-{r}) ; jnp.max(jnp.maximum({m},
{v}), 0) ; jnp.sum(jnp.concatenate([{r}, {r2}], 0), 0) ; jnp.sum(jnp.pad({v}, 2)) ; jnp.max(jnp.maximum({r}, {S})) ;
jnp.min(jnp.minimum({r}, {t})) ; jnp.sum(jnp.einsum('bij,bjk->bik', {h}, {h2}), 0) ; jnp.sum({m} @ {m2}, 0) ;
jnp.prod(jnp.broadcast_to({t}, (5,))) ; jnp.sum(jnp.broadcast_to({v}, (3, *{v}.shape)), 0) ; jnp.trace({m} @ {m2}) ;
jnp.diag({m} @ {m2}) ; jnp.ravel({s} @ {s2})[::{s}.shape[0] + 1] ; jnp.diag(jnp.exp({m}) + {m}) ; jnp.diag({m}.T) ;
jnp.diag(jnp.kron({s}, {s2})) ; (jnp.diag({v}) + jnp.diag({v}[:-1], 1) + jnp.diag({v}[1:], -1)) @ {m} ; (2 *
jnp.eye({m}.shape[0], dtype={m}.dtype) - jnp.eye({m}.shape[0], k=1, dtype={m}.dtype)) @ {m} ; jnp.kron(jnp.eye(3,
dtype={m}.dtype), {m}) @ jnp.ones((3 * {m}.shape[1], 2), {m}.dtype) ; jsl.block_diag({m}, {m2}) @
jnp.ones(({m}.shape[1] + {m2}.shape[1], 2), {m}.dtype) ; jnp.kron({m}, {m2}) @ jnp.ones({m}.shape[1] * {m2}.shape[1],
{m}.dtype) ; jnp.linalg.inv(jsl.block_diag({s}, {s2})) ; jnp.linalg.solve(jsl.block_diag({s}, {s2}), jnp.ones(2 *
{s}.shape[0], {s}.dtype)) ; jnp.linalg.det({s} @ {s2}) ; jnp.linalg.det({s}.T) ; jnp.linalg.det(jnp.linalg.inv({s})) ;
jnp.linalg.inv({s}) @ {m} ; jnp.linalg.inv({s}) @ {v} ; {m}.T @ jnp.linalg.inv({s}) ; {v} @ jnp.linalg.inv({s}) ;
jnp.linalg.cholesky(jnp.tril({s}) @ jnp.tril({s}).T) ; jnp.linalg.qr({s})[0] @ jnp.abs(jnp.linalg.qr({s})[1]) ;
jnp.linalg.solve(jnp.linalg.qr({s})[0], {v}) ; jnp.linalg.det(jnp.block([[{s}, jnp.zeros_like({s})], [{s2}, {s}]])) ;
jnp.linalg.solve(jnp.block([[{s}, jnp.zeros_like({s})], [{s2}, {s}]]), jnp.concatenate([{v}, {v2}])) ;
jsl.solve_triangular(jnp.block([[{s}, jnp.zeros_like({s})], [jnp.zeros_like({s}), {s2}]]), jnp.concatenate([{v},
{v2}]), lower=True) ; jnp.linalg.slogdet(jnp.linalg.cholesky({s} @ {s}.T + jnp.eye({s}.shape[0], dtype={s}.dtype)))[1]
; jnp.linalg.inv({s}.T) ; jnp.linalg.solve({s}, {m}).T ; jsl.solve_triangular(jnp.linalg.cholesky({s} @ {s}.T + 3 *
jnp.eye({s}.shape[0], dtype={s}.dtype)), {v}, lower=True) ; jnp.linalg.pinv({s}) ; jnp.linalg.eigvalsh({s} + {s}.T) ;
jnp.linalg.svd({m}, compute_uv=False) ; jsl.expm({s} * 0.1) ; jnp.linalg.solve(jnp.diag({v}) + jnp.diag({v}[:-1], 1) +
9 * jnp.eye({v}.shape[0], dtype={v}.dtype) + jnp.diag({v}[1:], -1), {v2}) ; jnp.linalg.solve(3 * jnp.eye({v}.shape[0],
dtype={v}.dtype) + jnp.outer({v}, {v}), {v2}) ; jnp.linalg.det(jnp.eye({v}.shape[0], dtype={v}.dtype) + jnp.outer({v},
{v2})) ; jnp.linalg.inv({h}.swapaxes(1, 2)) ; jnp.linalg.det({h} @ {h2}) ; jnp.linalg.cholesky({h} @ {h}.swapaxes(1,
2)) ; jnp.conj(jnp.fft.fft(jnp.conj({c}))) ; jnp.fft.fft({m}) + jnp.fft.fft({m2}) ; jnp.concatenate([jnp.fft.fft({c}),
jnp.fft.fft({c})]) ; jnp.fft.fft(jnp.fft.fft({z}, axis=-1), axis=0) ; jnp.fft.fft({m})[:1] ;
jnp.fft.ifft(jnp.fft.fft({v}) * {v2}).real ; jnp.fft.fft(jnp.full(5, {t})) ; jnp.fft.fft({z} * 2) * 0.5 ;
jnp.fft.irfft(jnp.fft.rfft({r}) * 1j) ; lax.dynamic_slice_in_dim(jnp.fft.fft({c}), {K}, 1, 0) ; lax.complex({f}, {y}) *
lax.complex({y}, {f}) ; jnp.imag({c} + {y}) ; jnp.real(-{c}) ; jnp.abs(-{c}) ; jnp.abs(jnp.conj({c})) ; jnp.exp(1j *
{f}) ; jnp.real(jnp.exp(1j * {f})) ; lax.complex(jnp.real({c}), -jnp.imag({c})) ; jnp.imag(jnp.conj({c})) ; jnp.abs({f}
+ 0j) ; jnp.abs({c}) < 2 ; jnp.abs({c}) ** 2 ; -lax.complex({f}, {y}) ; lax.complex({f}, {y}) + {c}[..., :1] ; {c} /
{c} ; {c} * 0 ; ({c} * {f}).real ; jnp.abs({f} * -2) ; jnp.abs(-{f}) ; jnp.maximum(jnp.maximum({x}, {y}), {y2}) ; {f} -
-{y} ; -{f} / -{y} ; {f} / -1 ; {f} ** 0 ; {f} ** 1.5 ; {f} ** -2 ; {f} ** 2.5 ; {f} ** -0.5 ; {f} ** -1.5 ; {f} ** 4 ;
-({f} * 3) ; -({f} / 3) ; jnp.cos(-{f}) ; jnp.sin(-{f}) ; jnp.floor(-{f}) ; jnp.tanh(-{f}) ; 1 / jnp.sqrt({f}) ; {f} /
lax.rsqrt({y}) ; jnp.sin({f}) / jnp.cos({f}) ; jnp.sqrt({f}) / {f} ; jnp.isfinite(-{f}) ; jnp.floor(jnp.ceil({f})) ;
({i} + {y}) - {y} ; {i} - ({i} + {y}) ; {i} - ({i} - {y}) ; -({i} - {y}) ; {i} * {y} + {i} * {y2} ; {i} * {y} - {i} *
{y2} ; jnp.maximum({i}, jnp.minimum({i}, {y})) ; 3 - (5 - {i}) ; 3 - ({i} + 2) ; ({i} + 2) * 3 ; {i} * 5 + {i} ; ({i} *
6) % 3 ; ({i} % 8) // 8 ; ({i} % 5 * 4 + 3) // 4 ; ({i} % 5 * 4 + 3) % 4 ; ({i} & 6) & 3 ; {i} | ({i} & {y}) ; {i} &
~{i} ; ~{i} & ~{y} ; ({i} + 2) == 5 ; ({i} - 1) < {y} ; {i}.astype(jnp.int32).astype({i}.dtype) ; {b} & ({b2} | ~{b}) ;
{b} | ({b2} & ~{b}) ; ~{b} & ({b2} | {b}) ; {b} | ~({b} & {b2}) ; jnp.where({b}, {b}, {b2}) ; jnp.where(~{b}, {f}, {y})
; jnp.where({b}, {f} + {y}, {f} - {y}) ; jnp.where(jnp.where({b}, {b2}, False), {f}, {y}) ; -{f} < -{y} ; ~({f} < {y})
; ~({i} < {y}) ; ({f} < {y}) | ({f} > {y}) ; ({f} <= {y}) & ({f} >= {y}) ; jnp.exp({f}) < 0 ; jnp.exp({f}) <= -1 ; {f}
!= {f} ; jnp.clip(jnp.clip({f}, 0, 2), 0, 2) ; jnp.clip({f}, 2, 1) ; lax.conv_general_dilated(jnp.pad({m}, 1)[None,
None], {m2}[None, None, :2, :3], (1, 1), 'VALID') ; lax.conv_general_dilated({h}.swapaxes(0, 1), {h2}[:, :1, :2], (1,),
'SAME', feature_group_count={h}.shape[1]) ; lax.conv_general_dilated(jnp.flip({m})[None, None], {m}[None, None, :1,
:2], (2, 2), [(2, 0), (0, 3)]) ; lax.conv_transpose({m}[None], {h}[:, :{m}.shape[1]], (2,), 'SAME') ;
lax.reduce_window(jnp.pad({v}, 1), 0.0, lax.add, (2,), (2,), 'VALID')
"""

ITERATIONS = """
lax.fori_loop(0, {v}.shape[0], lambda i, c: c.at[i].set({v}[i] + c[0]), {v2}) ; lax.fori_loop(0, 5, lambda i, c:
lax.cond(i == 0, lambda a: a + 1, lambda a: a * 2, c), {f}) ; lax.fori_loop(0, {v}.shape[0], lambda i, c:
jnp.maximum(c, {v}[i]), {v}[0]) ; lax.fori_loop(0, {i}.size, lambda n, c: c + {i}.ravel()[n], {i}.ravel()[0]) ;
lax.fori_loop({K}, {K} + 3, lambda i, c: c.at[i].set({v}[i] * 2), {v2}) ; lax.fori_loop(0, 4, lambda i, c: lax.cond({K}
> 0, lambda a: a * 0.5, lambda a: a + 1, c), {f}) ; lax.fori_loop(0, 4, lambda i, c: (c[0] + {t},
c[1].at[i].set(c[0])), ({t}, {v}))[1] ; lax.fori_loop(0, 3, lambda i, c: c.at[i].set({m} @ {m2}[:, 0]), jnp.zeros((3,
{m}.shape[0]), {m}.dtype)) ; lax.fori_loop(0, {m}.shape[0], lambda i, c: c.at[i].set({m2} @ {m}[i]), {m}) ;
lax.fori_loop(0, {v}.shape[0], lambda i, c: c.at[i].set(c[i] * 2), {v}) ; lax.scan(lambda c, r: (c + r @ {m}.T, c),
jnp.zeros({m}.shape[0], {m}.dtype), {m2})[1] ; lax.scan(lambda c, r: (jnp.maximum(c, r), c), {m}[0], {m})[1] ;
lax.scan(lambda c, r: (c * 2 + r, c), {i}[0], {i})[1] ; lax.scan(lambda c, r: (c * r, c + r), {v}[0], {v})[1] ;
lax.scan(lambda c, r: (jnp.tanh({s} @ c + r), c), {v}, {s2})[1] ; lax.scan(lambda c, r: (c + jnp.outer(r, r), r[0]),
{s}, {s2})[0] ; lax.scan(lambda c, r: (jnp.roll(c, 1).at[0].set(r), c.sum()), {v}, {v2})[1] ; lax.fori_loop(1,
{v}.shape[0] - 1, lambda i, c: c.at[i].set(0.5 * c[i - 1] + 0.5 * c[i + 1]), {v}) ; lax.fori_loop(0, 3, lambda i, c:
c.at[1:-1].set(0.5 * c[:-2] + 0.5 * c[2:]), {v}) ; lax.fori_loop(0, {v}.shape[0], lambda i, c: c.at[{v}.shape[0] - 1 -
i].set({v}[i]), {v}) ; lax.fori_loop(0, {v}.shape[0], lambda i, c: c.at[i // 2].add({v}[i]), {v2}) ; lax.fori_loop(0,
{v}.shape[0], lambda i, c: c.at[i].set(c[c.shape[0] - 1 - i]), {v}) ; lax.fori_loop(0, {m}.shape[0], lambda i, c:
lax.fori_loop(0, {m}.shape[1], lambda j, e: e.at[i, j].set(e[i, j - 1] + {m}[i, j]), c), {m}) ; lax.fori_loop(0,
{m}.shape[0], lambda i, c: lax.fori_loop(0, i, lambda j, e: e.at[i].add({m}[i] * e[j, 0]), c), {m}) ; lax.fori_loop(0,
{K}, lambda i, c: c.at[i % 2].add(i), {v}) ; lax.fori_loop(0, 3, lambda i, c: jnp.sort(c) + {v}, {v2}) ;
lax.fori_loop(0, {v}.shape[0], lambda i, c: jnp.where({v}[i] > 0, c + {v}[i], c), {t}) ; lax.fori_loop(0, {v}.shape[0],
lambda i, c: jnp.where({v}[i] > {v}[c], i, c), 0) ; lax.fori_loop(0, {v}.shape[0], lambda i, c: lax.cond({v}[i] > 0,
lambda a: a.at[i].set(0), lambda a: a, c), {v}) ; lax.fori_loop(0, {v}.shape[0] // 2, lambda i, c: c.at[2 *
i].set({v}[i]), {v2}) ; lax.fori_loop(0, {j}.shape[0], lambda i, c: c.at[{j}[i]].set({v}[i]), {v2}) ;
lax.while_loop(lambda c: (c[0] < {v}.shape[0]) & (c[1] < 2), lambda c: (c[0] + 1, c[1] + {v}[c[0]]), (0, {t}))[1] ;
lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 2, c[1].at[c[0]].set(c[1][c[0] + 1])), (0, {v}))[1] ;
lax.while_loop(lambda c: (c[0] < 9) & ~{b}.all(), lambda c: (c[0] + {K} ** 2 + 1, c[1] * 0.5), (0, {f}))[1] ;
lax.scan(lambda c, r: lax.cond(r > 0, lambda: (c + r, c), lambda: (c, r)), {v}[0], {v})[1] ; lax.scan(lambda c, n:
(c.at[n].set({v}[-n]), c[n]), {v}, jnp.arange(3))[0] ; jax.vmap(lambda r: lax.scan(lambda c, e: (c + e, c), r[0],
r)[1])({m}) ; jax.vmap(lambda n: {m}[n] * {v})({j}) ; jax.vmap(lambda r, n: r.at[n].set(0), (0, None))({m}, {K}) ;
jax.vmap(lambda r: jnp.interp(r, jnp.sort({v}), {v2}))({v}) ; jax.vmap(lambda r: jnp.linalg.solve({s}, r))({m}) ;
jax.vmap(lambda r: jnp.convolve(r, {v}))({m}) ; jax.vmap(lambda r: r[jnp.argmax(r)])({m}) ; jax.vmap(lambda r:
jnp.searchsorted(r, {v}))(jnp.sort({m})) ; jax.vmap(jnp.diag)({h}) ; jax.vmap(lambda a: jnp.tril(a) @ a)({h})
"""
