"""GPUs that llama.cpp finds where there are none: the CPU computes for them, in the machine's memory.

A backend is registered with ggml for good; outside of `imaginary_gpus` its devices call themselves
processors, which llama.cpp passes over. Layers, caches and tensors on such a GPU really are in buffers of
their own, and are copied from and to those of the CPU.
"""

import ctypes as c
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llama_cpp as C

from rig.plugins.llama.core.llama import initialise

POINTER, SIZE = c.c_void_p, c.c_size_t
_CPU, _GPU = 0, 1
_NAMES = [b"GPU0", b"GPU1"]
_API_VERSION = 2  # GGML_BACKEND_API_VERSION of ggml-backend-impl.h, where the structures are


def _pointers(names: str) -> list[tuple[str, Any]]:
    return [(name, POINTER) for name in names.split()]


class _BufferType(c.Structure):
    _fields_ = _pointers("name alloc alignment max_size alloc_size is_host device context")


class _Device(c.Structure):
    _fields_ = _pointers(
        "name description memory type props init buffer_type host_buffer_type from_host_ptr supports_op"
        " supports_buft offload_op event_new event_free event_synchronize registry context"
    )


class _Backend(c.Structure):
    _fields_ = [
        *_pointers("guid name free set_async get_async set_2d_async get_2d_async copy_async synchronize"),
        *_pointers("plan_create plan_free plan_update plan_compute compute"),
        *_pointers("event_record event_wait optimize device context"),
    ]


class _Registry(c.Structure):
    _fields_ = [("version", c.c_int), *_pointers("name count device address context")]


class _Properties(c.Structure):
    _fields_ = [
        *(("name", c.c_char_p), ("description", c.c_char_p), ("free", SIZE), ("total", SIZE)),
        *(("type", c.c_int), ("id", c.c_char_p), ("capabilities", c.c_bool * 5)),
    ]


_kept: list[Any] = []
"""What C has pointers to."""
_free: list[int] = []
"""Bytes that are free on each GPU, of those that there are now."""


def _function(result: Any, *arguments: Any) -> Any:
    """Turn a Python function into a pointer that C can call, which is never freed."""

    def convert(function: Any) -> int:
        _kept.append(c.CFUNCTYPE(result, *arguments)(function))
        return c.cast(_kept[-1], POINTER).value or 0

    return convert


def _text(text: bytes) -> int:
    """A pointer to a function that returns a text."""
    _kept.append(c.create_string_buffer(text))
    address = c.addressof(_kept[-1])
    return _function(POINTER, POINTER)(lambda _: address)


def _of_ggml(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(C.llama_cpp._lib, name)
    function.restype, function.argtypes = result, arguments
    return function


def _register() -> None:
    """Register the backend, with all its devices."""
    initialise()
    cpu = _of_ggml("ggml_backend_init_by_type", POINTER, c.c_int, c.c_char_p)(_CPU, None)
    cpu_device = _of_ggml("ggml_backend_dev_by_type", POINTER, c.c_int)(_CPU)
    compute = _of_ggml("ggml_backend_graph_compute", c.c_int, POINTER, POINTER)
    supports = _of_ggml("ggml_backend_dev_supports_op", c.c_bool, POINTER, POINTER)
    cpu_buffers = _BufferType.from_address(_of_ggml("ggml_backend_cpu_buffer_type", POINTER)())
    registry = _Registry(version=_API_VERSION)
    guid = (c.c_uint8 * 16)(*b"an imaginary GPU")
    devices = [_Device(registry=c.addressof(registry)) for _ in _NAMES]
    _kept.extend([registry, guid, devices])
    for number, (name, device) in enumerate(zip(_NAMES, devices, strict=True)):
        _describe(number, name, device)
        buffers = _BufferType.from_buffer_copy(cpu_buffers)
        buffers.name = _text(name)
        buffers.is_host, buffers.device = None, c.addressof(device)
        backend = _Backend(guid=c.addressof(guid), device=c.addressof(device), name=buffers.name)
        backend.free = _function(None, POINTER)(lambda _: None)
        backend.compute = _function(c.c_int, POINTER, POINTER)(lambda _, graph: compute(cpu, graph))
        _kept.extend([buffers, backend])
        address, types = c.addressof(backend), c.addressof(buffers)
        device.init = _function(POINTER, POINTER, c.c_char_p)(lambda *_, backend=address: backend)
        device.buffer_type = _function(POINTER, POINTER)(lambda _, types=types: types)
        device.supports_op = _function(c.c_bool, POINTER, POINTER)(lambda _, op: supports(cpu_device, op))
        device.supports_buft = _function(c.c_bool, POINTER, POINTER)(
            lambda _, kind, types=types: kind == types
        )
    registry.name = _text(b"imaginary")
    registry.count = _function(SIZE, POINTER)(lambda _: len(devices))
    registry.device = _function(POINTER, POINTER, SIZE)(lambda _, number: c.addressof(devices[number]))
    _of_ggml("ggml_backend_register", None, POINTER)(c.addressof(registry))


def _describe(number: int, name: bytes, device: _Device) -> None:
    def type_of(_: Any) -> int:
        return _GPU if number < len(_free) else _CPU

    def memory(_: Any, free: Any, total: Any) -> None:
        free[0] = total[0] = _free[number] if number < len(_free) else 0

    def properties(_: Any, props: Any) -> None:
        props[0] = _Properties(name, b"imaginary", *_free[number : number + 1] * 2, type=type_of(None))

    device.name, device.description = _text(name), _text(b"imaginary")
    device.type = _function(c.c_int, POINTER)(type_of)
    device.memory = _function(None, POINTER, c.POINTER(SIZE), c.POINTER(SIZE))(memory)
    device.props = _function(None, POINTER, c.POINTER(_Properties))(properties)


@contextmanager
def imaginary_gpus(free: Sequence[int]) -> Iterator[None]:
    """While this lasts, llama.cpp finds a GPU for each of these numbers of bytes: GPU0 and GPU1, at most."""
    if not _kept:
        _register()
    _free[:] = free
    try:
        yield
    finally:
        _free.clear()
