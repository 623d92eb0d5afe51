/* gpu_parts.c: parts of the backend of GPUs that need no driver.
 *
 *   gpu_parts architecture FOLDER PLACE...    what code for a GPU of AMD is compiled for, out of a folder like
 *                                             /sys/class/kfd/kfd/topology/nodes: a line for each place, gfx90a, or nothing
 *   gpu_parts names FILE                      the names of the kernels in code
 *   gpu_parts cut FILE                        the same of all beginnings of it, and of it with each byte changed: how often */
#include "device/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find_architectures(char **arguments)
{
  const char *nodes = *arguments++;
  for (; *arguments; ++arguments) {
    char architecture[32] = "";
    gpu_find_architecture(nodes, *arguments, architecture, sizeof architecture);
    printf("%s\n", architecture);
  }
}

static char *read_file(const char *path, size_t *out_size)
{
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) exit(1);
  *out_size = (size_t)ftell(file);
  rewind(file);
  char *bytes = calloc(1, *out_size + 1);
  if (!bytes || fread(bytes, 1, *out_size, file) != *out_size) exit(1);
  fclose(file);
  return bytes;
}

static void print_names(const char *path)
{
  size_t size;
  char *image = read_file(path, &size);
  ccw_text names = {0};
  gpu_image_names(image, size, &names);
  printf("%s", ccw_text_data(&names));
  ccw_text_free(&names);
  free(image);
}

/* In a block of its own, so that a sanitizer sees what is read behind it. */
static void look_into(const char *bytes, size_t size)
{
  char *image = malloc(size + 1);
  if (!image) exit(1);
  memcpy(image, bytes, size);
  image[size] = '\0';
  ccw_text names = {0};
  gpu_image_names(image, size, &names);
  ccw_text_free(&names);
  free(image);
}

static void cut(const char *path)
{
  size_t size, times = 0;
  char *image = read_file(path, &size);
  for (size_t length = 0; length < size; length += 1 + length / 64, ++times) look_into(image, length);
  for (size_t at = 0; at < size; at += 1 + at / 256)
    for (int bit = 0; bit < 8; bit += 7, ++times) {
      image[at] = (char)(image[at] ^ 1 << bit);
      look_into(image, size);
      image[at] = (char)(image[at] ^ 1 << bit);
    }
  free(image);
  printf("%zu times\n", times);
}

int main(int count, char **arguments)
{
  if (count < 3) return 2;
  if (strcmp(arguments[1], "architecture") == 0) find_architectures(arguments + 2);
  if (strcmp(arguments[1], "names") == 0) print_names(arguments[2]);
  if (strcmp(arguments[1], "cut") == 0) cut(arguments[2]);
  return 0;
}
