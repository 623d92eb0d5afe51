/* A module for the simulated device, by hand: what kernel.h makes of a source. */
#include <ccw/sim.h>

typedef struct arguments {
  float a;
  uint32_t count;
  const float *x;
  float *y;
} arguments;

static void run_axpy(ccw_simt *simt, const void *memory)
{
  const arguments *p = memory;
  uint32_t threads = simt->block[0] * simt->block[1] * simt->block[2];
  for (uint32_t t = simt->from; t < threads; ++t) {
    uint32_t i = simt->block_index[0] * threads + t;
    if (i < p->count) p->y[i] += p->a * p->x[i];
  }
}

static void run_nothing(ccw_simt *simt, const void *memory)
{
  (void)simt;
  (void)memory;
}

static const ccw_sim_parameter parameters[] = {
    {.offset = offsetof(arguments, a), .size = 4, .dtype = XLA_FFI_DataType_F32},
    {.offset = offsetof(arguments, count), .size = 4, .dtype = XLA_FFI_DataType_U32},
    {.offset = offsetof(arguments, x), .size = 8, .dtype = XLA_FFI_DataType_F32, .is_pointer = 1, .is_const = 1},
    {.offset = offsetof(arguments, y), .size = 8, .dtype = XLA_FFI_DataType_F32, .is_pointer = 1},
};

static const ccw_sim_kernel axpy = {sizeof axpy, "axpy", run_axpy, parameters, 4, sizeof(arguments), 0, CCW_SIM_ABI};
static const ccw_sim_kernel nothing = {sizeof nothing, "nothing", run_nothing, parameters, 0, 0, 0, CCW_SIM_ABI};

__attribute__((visibility("default"))) extern const ccw_sim_kernel *const CCW_SIM_KERNELS[];
const ccw_sim_kernel *const CCW_SIM_KERNELS[] = {&axpy, &nothing, NULL};
