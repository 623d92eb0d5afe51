/* main.c: a program outside the tree that uses the installed library: outside LIBRARY prints 2 * {1, 2, 3}. */
#include <ccw/ccw.h>

static ccw_status run(const char *path)
{
  ccw_library *library;
  CCW_TRY(ccw_library_open(path, &library));
  ccw_handler *scale;
  CCW_TRY(ccw_library_handler(library, "scale", &scale));
  ccw_shape shape;
  CCW_TRY(ccw_shape_make(XLA_FFI_DataType_F32, (const int64_t[]){3}, 1, &shape));
  ccw_buffer *x, *y;
  CCW_TRY(ccw_buffer_new(&shape, true, &x));
  CCW_TRY(ccw_buffer_new(&shape, false, &y));
  for (int i = 0; i < 3; ++i) ((float *)ccw_buffer_data(x))[i] = (float)(i + 1);
  ccw_attributes_builder *builder;
  ccw_attributes *attributes;
  CCW_TRY(ccw_attributes_begin(&builder));
  CCW_TRY(ccw_attributes_add_scalar(builder, "s", 1, (ccw_scalar){XLA_FFI_DataType_F32, {.f = 2}}));
  CCW_TRY(ccw_attributes_finish(builder, &attributes));
  ccw_call *call;
  CCW_TRY(ccw_call_prepare(scale, &x, 1, &y, 1, attributes, NULL, &call));
  CCW_TRY(ccw_call_run(call));
  for (int i = 0; i < 3; ++i) printf("%g ", ((float *)ccw_buffer_data(y))[i]);
  return ccw_ok();
}

int main(int argc, char **argv)
{
  ccw_status status = argc > 1 ? run(argv[1]) : ccw_invalid("expected the path of a library");
  printf("%s %s\n", ccw_code_name(status.code), ccw_status_text(status));
  return status.code;
}
