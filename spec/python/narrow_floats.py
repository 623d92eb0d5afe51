"""narrow_floats.py FOLDER: what ml_dtypes makes of numbers, as files of raw bytes for dtype_spec.lua.

inputs.f32           the numbers to encode: every f16 and bf16 value, and 200,000 others: ties between neighbours of each
                     format, the numbers next to the ties, edges of the ranges, subnormals, and random ones
FORMAT.encoded       those numbers in the format, a code in one byte or two
FORMAT.decoded       every code of the format as f64
"""
import sys
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")
FORMATS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e3m4": ml_dtypes.float8_e3m4, "f4e2m1fn": ml_dtypes.float4_e2m1fn, "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
}


def codes(name):
    bits = {"f16": 16, "bf16": 16, "f4e2m1fn": 4}.get(name, 8)
    raw = np.arange(2**bits, dtype=np.uint16 if bits == 16 else np.uint8)
    return raw.view(FORMATS[name])


def inputs():
    random = np.random.default_rng(2026)
    parts = [codes("f16").astype(np.float32), codes("bf16").astype(np.float32)]
    for name in FORMATS:
        values = codes(name).astype(np.float64)
        values = np.unique(values[np.isfinite(values)])
        ties = ((values[1:] + values[:-1]) / 2).astype(np.float32)
        if len(ties) > 2000:
            ties = random.choice(ties, 2000, replace=False)
        parts += [ties, np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(-np.inf))]
        largest = np.float32(values[-1])
        parts.append(np.array([largest * s for s in (1, 1.01, 1.03125, 1.0625, 1.1, 1.25, 1.5, 2, -1, -1.0625, -1.5, -2)],
                              dtype=np.float32))
    parts.append(np.array([0, -0.0, np.inf, -np.inf, np.nan, -np.nan, np.finfo(np.float32).max], dtype=np.float32))
    parts.append(np.float32(2) ** np.arange(-149, 128, dtype=np.float32))
    parts.append(random.integers(0, 2**32, 60000, dtype=np.uint32).view(np.float32))
    parts.append(random.standard_normal(60000).astype(np.float32))
    parts.append(random.integers(0, 2**23, 20000, dtype=np.uint32).view(np.float32))
    numbers = np.concatenate(parts)
    bits = numbers.view(np.uint32)
    # A signalling NaN becomes quiet on its way through a double: no Lua number is one.
    bits[np.isnan(numbers)] |= 1 << 22
    return numbers


folder = sys.argv[1]
numbers = inputs()
numbers.tofile(folder + "/inputs.f32")
for name, dtype in FORMATS.items():
    encoded = numbers.astype(dtype)
    encoded.view(np.uint16 if encoded.itemsize == 2 else np.uint8).tofile(f"{folder}/{name}.encoded")
    codes(name).astype(np.float64).tofile(f"{folder}/{name}.decoded")
