/* architecture.c: what code for a GPU of AMD is compiled for, out of a folder like /sys/class/kfd/kfd/topology/nodes.
 *
 *   architecture FOLDER PLACE...    prints a line for each place: gfx90a, or nothing */
#include "device/gpu.h"

#include <stdio.h>

int main(int count, char **arguments)
{
  for (int i = 2; i < count; ++i) {
    char architecture[32] = "";
    gpu_find_architecture(arguments[1], arguments[i], architecture, sizeof architecture);
    printf("%s\n", architecture);
  }
  return 0;
}
