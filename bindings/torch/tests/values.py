"""Inputs that every rank can make for every other, and what a collective must make of them."""

import torch
import torch.distributed as dist

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
COMPLEX = [torch.complex64, torch.complex128]
TYPES = [*FLOATS, *INTEGERS, torch.bool, *COMPLEX]
GLOO_TYPES = [torch.float16, torch.float32, torch.float64, torch.uint8, torch.int8, torch.int32, torch.int64]

SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 4), (1000,), (40_000,)]

SUM, PRODUCT, MIN, MAX = dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX
BAND, BOR, BXOR, AVG = dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR, dist.ReduceOp.AVG
BITWISE = [BAND, BOR, BXOR]


def types(backend):
    return GLOO_TYPES if backend == "gloo" else TYPES


def operations(dtype):
    """The reductions that torch has for a type. Python turns complex tensors into pairs of floats for sums alone."""
    if dtype.is_complex:
        return [SUM]
    return [SUM, PRODUCT, MIN, MAX] + (BITWISE if dtype in INTEGERS or dtype == torch.bool else [])


def value(rank, shape=(), dtype=torch.float32, salt=0):
    """Small whole numbers, so that sums and products of a few ranks are exact in every type."""
    count = torch.Size(shape).numel()
    numbers = (torch.arange(count, dtype=torch.int64) * 7 + rank * 5 + salt * 3) % 11
    if dtype == torch.bool:
        return (numbers % 2 == 0).reshape(shape)
    if dtype.is_complex:
        return torch.complex(numbers.double(), (numbers - 3).double()).to(dtype).reshape(shape)
    return numbers.to(dtype).reshape(shape)


def factor(rank, shape, dtype):
    """For products: ones and twos."""
    return value(rank, shape, dtype) if dtype == torch.bool else (value(rank, shape, torch.int64) % 2 + 1).to(dtype)


def inputs(size, shape, dtype, operation=SUM):
    make = factor if operation == PRODUCT else value
    return [make(rank, shape, dtype) for rank in range(size)]


def combined(tensors, operation):
    """What a reduction of these must give, in their type."""
    dtype = tensors[0].dtype
    wide = torch.int64 if dtype in INTEGERS or dtype == torch.bool else dtype if dtype.is_complex else torch.float64
    total = tensors[0].to(wide)
    for tensor in tensors[1:]:
        total = STEPS[operation](total, tensor.to(wide))
    if dtype == torch.bool:
        total = total != 0
    return (total / len(tensors) if operation == AVG else total).to(dtype)


STEPS = {SUM: torch.add, AVG: torch.add, PRODUCT: torch.mul, MIN: torch.minimum, MAX: torch.maximum,
         BAND: torch.bitwise_and, BOR: torch.bitwise_or, BXOR: torch.bitwise_xor}


def strided(tensor):
    """The same values in memory with gaps."""
    wide = torch.zeros(*tensor.shape, 2, dtype=tensor.dtype, device=tensor.device)
    view = wide[..., 0]
    view.copy_(tensor)
    return view


def transposed(tensor):
    """The same values of a matrix, column by column in memory: dense, but not contiguous."""
    return tensor.t().contiguous().t()


def same(case, found, expected):
    """Type, shape and every element."""
    case.assertEqual(found.dtype, expected.dtype)
    case.assertEqual(found.shape, expected.shape)
    case.assertTrue(torch.equal(found, expected), f"{found.flatten()[:8]} should be {expected.flatten()[:8]}")
