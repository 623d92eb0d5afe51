/* What compilers say, and what of it their user wants to read: the errors, with the lines of the source. */
#include "device/compile.h"

#include "base/text.h"

/* "axpy.cu:3:10: error: text", or "axpy.cu(3): error: text", and lines behind it that begin with a space. */
typedef struct diagnostic {
  XLA_FFI_ByteSpan file, text, more;
  size_t line, column; /* 0: not told */
  bool is_error;
} diagnostic;

static XLA_FFI_ByteSpan take_line(XLA_FFI_ByteSpan *rest)
{
  const char *end = memchr(rest->ptr, '\n', rest->len);
  XLA_FFI_ByteSpan line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
  size_t taken = line.len + (end != NULL);
  rest->ptr += taken;
  rest->len -= taken;
  return line;
}

/* Where a word stands in a line; its length where it does not. */
static size_t find_in(XLA_FFI_ByteSpan line, const char *word)
{
  const char *at = line.len > 0 ? memmem(line.ptr, line.len, word, strlen(word)) : NULL;
  return at ? (size_t)(at - line.ptr) : line.len;
}

static bool has(XLA_FFI_ByteSpan line, const char *word) { return find_in(line, word) < line.len; }

/* Takes a number off the end of a place, and the byte in front of it. */
static bool take_number(XLA_FFI_ByteSpan *place, char before, size_t *out_number)
{
  size_t i = place->len, number = 0, unit = 1;
  for (; i > 0 && place->ptr[i - 1] >= '0' && place->ptr[i - 1] <= '9' && unit < 1000000000; --i, unit *= 10)
    number += unit * (size_t)(place->ptr[i - 1] - '0');
  if (i == place->len || i == 0 || place->ptr[i - 1] != before) return false;
  place->len = i - 1;
  *out_number = number;
  return true;
}

static void read_place(diagnostic *d)
{
  if (d->file.len > 0 && d->file.ptr[d->file.len - 1] == ')') {
    XLA_FFI_ByteSpan inside = {d->file.ptr, d->file.len - 1};
    if (take_number(&inside, '(', &d->line)) d->file = inside;
    return;
  }
  if (take_number(&d->file, ':', &d->line) && take_number(&d->file, ':', &d->column)) {
    size_t line = d->column;
    d->column = d->line;
    d->line = line;
  }
}

/* Reads the next diagnostic of any kind; false at the end. */
static bool next(XLA_FFI_ByteSpan *rest, diagnostic *out)
{
  static const char *const kinds[] = {
      "fatal error: ", "catastrophic error: ", "error: ", "warning: ", "warning #", "note: ", "remark: "};
  enum { ERRORS = 3 };
  while (rest->len > 0) {
    XLA_FFI_ByteSpan line = take_line(rest);
    if (line.len == 0 || line.ptr[0] == ' ') continue;
    size_t best = line.len, kind = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
      size_t at = find_in(line, kinds[i]);
      if (at < best) {
        best = at;
        kind = i;
      }
    }
    bool has_place = best >= 2 && best < line.len && memcmp(line.ptr + best - 2, ": ", 2) == 0;
    if (best == line.len || (best > 0 && !has_place)) continue;
    *out = (diagnostic){.file = {line.ptr, best > 0 ? best - 2 : 0}, .is_error = kind < ERRORS};
    size_t start = best + strlen(kinds[kind]);
    out->text = (XLA_FFI_ByteSpan){line.ptr + start, line.len - start};
    read_place(out);
    out->more.ptr = rest->ptr;
    while (rest->len > 0 && *rest->ptr == ' ') take_line(rest);
    out->more.len = (size_t)(rest->ptr - out->more.ptr);
    return true;
  }
  return false;
}

/* NVRTC shows the line, two places further right, and a caret below instead of telling the column. */
static size_t column_of(const diagnostic *d)
{
  if (d->column > 0) return d->column;
  XLA_FFI_ByteSpan rest = d->more;
  while (rest.len > 0) {
    XLA_FFI_ByteSpan line = take_line(&rest);
    size_t spaces = 0;
    while (spaces < line.len && line.ptr[spaces] == ' ') ++spaces;
    if (spaces + 1 == line.len && line.ptr[spaces] == '^') return spaces < 2 ? 1 : spaces - 1;
  }
  return 0;
}

/* Adds the line of the source and a caret. */
static void add_line(const ccw_source *source, const diagnostic *d, ccw_text *text)
{
  XLA_FFI_ByteSpan rest = {source->text, source->length}, line = {NULL, 0};
  size_t column = column_of(d);
  for (size_t i = 0; i < d->line; ++i) {
    if (rest.len == 0) return;
    line = take_line(&rest);
  }
  if (line.len > 0 && line.ptr[line.len - 1] == '\r') --line.len;
  if (column == 0 || column > line.len + 1) return;
  size_t indent = 0;
  while (indent < column - 1 && (line.ptr[indent] == ' ' || line.ptr[indent] == '\t')) ++indent;
  ccw_text_add_caret(text, line.ptr + indent, line.len - indent, column - 1 - indent);
}

static bool is_file(const diagnostic *d, const char *name)
{
  return d->file.len == strlen(name) && memcmp(d->file.ptr, name, d->file.len) == 0;
}

static void add_place(const diagnostic *d, ccw_text *text)
{
  ccw_text_add_escaped(text, d->file.ptr, d->file.len);
  if (d->line > 0) ccw_text_add(text, ":%zu", d->line);
  size_t column = column_of(d);
  if (column > 0) ccw_text_add(text, ":%zu", column);
}

static void add_error(const ccw_compilation *c, const diagnostic *d, ccw_text *text)
{
  ccw_text_add(text, "%s", text->length > 0 ? "\n" : "");
  add_place(d, text);
  ccw_text_add(text, "%serror: ", d->file.len > 0 ? ": " : "");
  ccw_text_add_escaped(text, d->text.ptr, d->text.len);
  if (is_file(d, c->name)) add_line(c->source, d, text);
}

/* Of an error in a header: the line of the source that led there. */
static void add_cause(const ccw_compilation *c, XLA_FFI_ByteSpan log, ccw_text *text)
{
  size_t length = strlen(c->name);
  while (log.len > 0) {
    XLA_FFI_ByteSpan line = take_line(&log);
    bool is_cause = has(line, "required from here") || has(line, "requested here");
    if (!is_cause || line.len < length || memcmp(line.ptr, c->name, length) != 0) continue;
    ccw_text_add(text, "\n");
    ccw_text_add_escaped(text, line.ptr, line.len);
    return;
  }
}

/* Whether the text says no more than that another program has failed, which spoke for itself. */
static bool is_of_linker(const diagnostic *d)
{
  return has(d->text, "ld returned") || has(d->text, "linker command failed");
}

/* Whether the log speaks of a line of that file, other than in warnings. */
static bool speaks_of(XLA_FFI_ByteSpan log, const char *name)
{
  size_t length = strlen(name);
  while (log.len > 0) {
    XLA_FFI_ByteSpan line = take_line(&log);
    if (line.len < length + 2 || memcmp(line.ptr, name, length) != 0 || has(line, "warning")) continue;
    if ((line.ptr[length] == ':' || line.ptr[length] == '(') && line.ptr[length + 1] >= '0' &&
        line.ptr[length + 1] <= '9')
      return true;
  }
  return false;
}

/* An error of a line that asks for a kernel; of headers, where that line led there. */
static bool is_of_names(const diagnostic *d, bool asking_failed)
{
  return is_file(d, CCW_KERNEL_NAMES) || is_file(d, "__nv_name_map") || asking_failed;
}

static ccw_status no_such_kernel(const ccw_compilation *c, const diagnostic *d)
{
  ccw_text text = {0};
  ccw_text_add(&text, "%s: no kernel ", c->name);
  for (size_t i = 0; i < c->source->kernel_count; ++i)
    ccw_text_add(&text, "%s'%s'", i > 0 ? " or " : "", c->source->kernels[i]);
  ccw_text_add(&text, ": ");
  ccw_text_add_escaped(&text, d->text.ptr, d->text.len);
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

/* There is nothing that looks like an error: the end of what was said. */
static ccw_status unknown_failure(const ccw_compilation *c, XLA_FFI_ByteSpan log)
{
  enum { MOST = 2000 };
  ccw_text text = {0};
  while (log.len > 0 && (log.ptr[log.len - 1] == '\n' || log.ptr[log.len - 1] == ' ')) --log.len;
  ccw_text_add(&text, "%s does not compile", c->name);
  if (log.len == 0) ccw_text_add(&text, ", and the compiler does not say why");
  size_t start = log.len > MOST ? log.len - MOST : 0;
  log = (XLA_FFI_ByteSpan){log.ptr + start, log.len - start};
  while (log.len > 0) {
    XLA_FFI_ByteSpan line = take_line(&log);
    ccw_text_add(&text, "\n  ");
    ccw_text_add_escaped(&text, line.ptr, line.len);
  }
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}

ccw_status ccw_compile_failure(const ccw_compilation *c, const ccw_text *log)
{
  enum { MOST = 8 };
  XLA_FFI_ByteSpan all = {ccw_text_data(log), log->length}, rest = all;
  ccw_text text = {0};
  diagnostic d, first_name = {.is_error = false};
  size_t count = 0;
  bool is_elsewhere = false;
  bool asking_failed = speaks_of(all, CCW_KERNEL_NAMES) && !speaks_of(all, c->name);
  while (next(&rest, &d)) {
    if (!d.is_error || is_of_linker(&d)) continue;
    if (is_of_names(&d, asking_failed)) {
      bool is_better = is_file(&d, CCW_KERNEL_NAMES) && !is_file(&first_name, CCW_KERNEL_NAMES);
      if (!first_name.is_error || is_better) first_name = d;
    } else if (++count <= MOST) {
      add_error(c, &d, &text);
      is_elsewhere = is_elsewhere || !is_file(&d, c->name);
    }
  }
  if (count == 0) {
    ccw_text_free(&text);
    return first_name.is_error ? no_such_kernel(c, &first_name) : unknown_failure(c, all);
  }
  if (is_elsewhere) add_cause(c, all, &text);
  if (count > MOST) ccw_text_add(&text, "\n... and %zu more", count - MOST);
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}
