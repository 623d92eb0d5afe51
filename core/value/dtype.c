#include <string.h>

#include <ccw/ccw.h>

typedef struct dtype_info {
  const char *name;
  int bits;
  ccw_class class;
} dtype_info;

#define INFO(NAME, name, number, bits, class) [number] = {#name, bits, CCW_CLASS_##class},
static const dtype_info dtypes[] = {CCW_DTYPES(INFO)};
#undef INFO

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static const dtype_info *find(ccw_dtype dtype)
{
  static const dtype_info none = {"invalid", 0, CCW_CLASS_NONE};
  unsigned number = (unsigned)dtype;
  return number < DTYPES && dtypes[number].name ? &dtypes[number] : &none;
}

const char *ccw_dtype_name(ccw_dtype dtype) { return find(dtype)->name; }

int ccw_dtype_bits(ccw_dtype dtype) { return find(dtype)->bits; }

ccw_class ccw_dtype_class(ccw_dtype dtype) { return find(dtype)->class; }

ccw_dtype ccw_dtype_from_name(const char *name, size_t length)
{
  for (int number = 0; number < DTYPES; ++number)
    if (dtypes[number].name && strlen(dtypes[number].name) == length && memcmp(dtypes[number].name, name, length) == 0)
      return (ccw_dtype)number;
  return XLA_FFI_DataType_INVALID;
}
