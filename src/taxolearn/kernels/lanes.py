"""Products of sparse rows with many vectors side by side, the sums of a row staying in registers.

A plain loop over the vectors loads and stores the sums of a row once for every few features, and waits for each line
of memory. Here a row's sums are one vector of the processor's while its features go by, and the lines that come next
are fetched ahead: two to three times as fast. The compiler does not find that by itself.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from taxolearn.kernels._called import part, scalar

_AHEAD = 8  # features whose lines are fetched ahead
_LINE = 64  # bytes
_BLOCK = 8  # vectors whose products with dense rows are added up at once
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


def _plain(indices, data, first, last, weights, at, out, width):
    for k in range(first, last):
        line = weights[indices[k]]
        value = out.dtype.type(data[k])
        for b in range(at, at + width):
            out[b] += value * line[b]


def _lanes(width: int) -> Any:
    """What adds to out[at:at+width] the product of the entries first .. last-1 of sparse rows with weights[:, at:].

    `weights` (features x vectors) are of the floating type of `out`, or whole numbers in 16 bits: twice as many
    go through memory. Where they are not contiguous it is a plain loop.
    """

    def typed(context, indices, data, first, last, weights, at, out):
        signature = types.void(indices, data, types.int64, types.int64, weights, types.int64, out)
        return signature, lambda *given: _build(width, *given)

    compiled: Any = intrinsic(typed)
    plain = scalar(_plain)

    def lanes(indices, data, first, last, weights, at, out):
        _plain(indices, data, first, last, weights, at, out, width)

    @part(lanes)
    def choose(indices, data, first, last, weights, at, out):
        if weights.layout != "C" or out.layout != "C":
            return lambda indices, data, first, last, weights, at, out: plain(
                indices, data, first, last, weights, at, out, width
            )
        return lambda indices, data, first, last, weights, at, out: compiled(
            indices, data, first, last, weights, at, out
        )

    return lanes


def _build(width: int, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop over the entries of a row, with the sums as one vector that is led through it."""
    arrays = {k: context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 4, 6)}
    indices, data, weights, out = (array.data for array in arrays.values())
    _, _, first, last, _, at, _ = arguments
    number, stored = out.type.pointee, weights.type.pointee
    vector = ir.VectorType(number, width)
    stride = builder.extract_value(arrays[4].shape, 1)
    end = builder.extract_value(arrays[0].shape, 0)
    size, stored_size = context.get_abi_sizeof(number), context.get_abi_sizeof(stored)

    def place(k: Any) -> Any:
        """Where the weights of the feature of entry k begin."""
        feature = builder.zext(builder.load(builder.gep(indices, [k])), _INT64)
        return builder.gep(weights, [builder.add(builder.mul(feature, stride), at)])

    sums = builder.bitcast(builder.gep(out, [at]), vector.as_pointer())
    before = builder.load(sums, align=size)
    entry, loop = builder.block, builder.append_basic_block("entries")
    done = builder.append_basic_block("done")
    builder.cbranch(builder.icmp_signed("<", first, last), loop, done)
    builder.position_at_end(loop)
    k, total = builder.phi(_INT64), builder.phi(vector)
    # fetch ahead, into the next row at the end of one
    later = builder.add(k, _INT64(_AHEAD))
    later = builder.select(builder.icmp_signed("<", later, end), later, k)
    line = builder.bitcast(place(later), ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [line.type, _INT32, _INT32, _INT32])
    fetch = builder.module.declare_intrinsic("llvm.prefetch.p0", fnty=kind)
    for offset in range(0, width * stored_size, _LINE):
        builder.call(fetch, [builder.gep(line, [_INT64(offset)]), _INT32(0), _INT32(3), _INT32(1)])
    spread = _spread(builder, builder.load(builder.gep(data, [k])), vector)
    line = builder.bitcast(place(k), ir.VectorType(stored, width).as_pointer())
    found = builder.load(line, align=stored_size)
    if stored != number:
        found = builder.sitofp(found, vector)
    after = _multiply_add(builder, spread, found, total)
    following = builder.add(k, _INT64(1))
    builder.cbranch(builder.icmp_signed("<", following, last), loop, done)
    k.add_incoming(first, entry)
    k.add_incoming(following, loop)
    total.add_incoming(before, entry)
    total.add_incoming(after, loop)
    builder.position_at_end(done)
    result = builder.phi(vector)
    result.add_incoming(before, entry)
    result.add_incoming(after, loop)
    builder.store(result, sums, align=size)
    return context.get_dummy_value()


def _plain_block(tail, i, first, weights, at, out):
    for k in range(tail.shape[1]):
        line = weights[first + k]
        value = out.dtype.type(tail[i, k])
        for b in range(at, at + _BLOCK):
            out[i, b] += value * line[b]


def _blocks(lines: int) -> Any:
    """What adds to out[i + r, at:at+8] the product of tail[i + r] with weights[first:, at:], for r < lines.

    `tail` are dense rows for the weights from `first` on. Each weight that is loaded serves all the lines.
    """

    def typed(context, tail, i, first, weights, at, out):
        signature = types.void(tail, types.int64, types.int64, weights, types.int64, out)
        return signature, lambda *given: _build_block(lines, *given)

    compiled: Any = intrinsic(typed)
    plain = scalar(_plain_block)

    def block(tail, i, first, weights, at, out):
        for r in range(lines):
            _plain_block(tail, i + r, first, weights, at, out)

    @part(block)
    def choose(tail, i, first, weights, at, out):
        if tail.layout != "C" or weights.layout != "C" or out.layout != "C":

            def one_by_one(tail, i, first, weights, at, out):
                for r in range(lines):
                    plain(tail, i + r, first, weights, at, out)

            return one_by_one
        return lambda tail, i, first, weights, at, out: compiled(tail, i, first, weights, at, out)

    return block


def _build_block(lines: int, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop over the columns of the tail, with the sums of all lines as vectors that are led through it."""
    arrays = [context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3, 5)]
    tail, weights, out = (array.data for array in arrays)
    n_columns, stride, width = (builder.extract_value(array.shape, 1) for array in arrays)
    _, i, first, _, at, _ = arguments
    number, stored = out.type.pointee, weights.type.pointee
    vector = ir.VectorType(number, _BLOCK)
    size, stored_size = context.get_abi_sizeof(number), context.get_abi_sizeof(stored)
    rows = [builder.add(i, _INT64(r)) for r in range(lines)]
    sums = [
        builder.bitcast(builder.gep(out, [builder.add(builder.mul(row, width), at)]), vector.as_pointer())
        for row in rows
    ]
    values = [builder.gep(tail, [builder.mul(row, n_columns)]) for row in rows]
    before = [builder.load(place, align=size) for place in sums]
    entry, loop = builder.block, builder.append_basic_block("columns")
    done = builder.append_basic_block("done")
    builder.cbranch(builder.icmp_signed("<", _INT64(0), n_columns), loop, done)
    builder.position_at_end(loop)
    k, totals = builder.phi(_INT64), [builder.phi(vector) for _ in rows]
    place = builder.add(builder.mul(builder.add(first, k), stride), at)
    line = builder.bitcast(builder.gep(weights, [place]), ir.VectorType(stored, _BLOCK).as_pointer())
    found = builder.load(line, align=stored_size)
    if stored != number:
        found = builder.sitofp(found, vector)
    after = [
        _multiply_add(builder, _spread(builder, builder.load(builder.gep(row, [k])), vector), found, total)
        for row, total in zip(values, totals, strict=True)
    ]
    following = builder.add(k, _INT64(1))
    builder.cbranch(builder.icmp_signed("<", following, n_columns), loop, done)
    k.add_incoming(_INT64(0), entry)
    k.add_incoming(following, loop)
    builder.position_at_end(done)
    results = [builder.phi(vector) for _ in rows]
    for start, end, *here in zip(before, after, totals, results, strict=True):
        for phi in here:
            phi.add_incoming(start, entry)
            phi.add_incoming(end, loop)
    for place, result in zip(sums, results, strict=True):
        builder.store(result, place, align=size)
    return context.get_dummy_value()


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """A number in all places of a vector."""
    number = vector.element
    if value.type != number:
        value = (builder.fpext if number == ir.DoubleType() else builder.fptrunc)(value, number)
    none, zeros = ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(_INT32, vector.count), None)
    return builder.shuffle_vector(builder.insert_element(none, value, _INT32(0)), none, zeros)


def _multiply_add(builder: Any, one: Any, other: Any, total: Any) -> Any:
    """one * other + total, place by place."""
    vector = total.type
    name = f"llvm.fmuladd.v{vector.count}f{64 if vector.element == ir.DoubleType() else 32}"
    kind = ir.FunctionType(vector, [vector] * 3)
    return builder.call(builder.module.declare_intrinsic(name, fnty=kind), [one, other, total])


add_widest = _lanes(128)
add_wide = _lanes(64)
add_narrow = _lanes(8)
add_block = _blocks(4)
add_line = _blocks(1)
