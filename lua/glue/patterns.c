/* Patterns of buffers: the words of a pattern in Lua are replayed with the functions that C has for them, so that there is
 * one meaning. */
#include "glue.h"

#include <string.h>

#define CCW_PATTERN_DIMS 32 /* of any rank */
#include <ccw/pattern.h>

/* A name in a pattern, of a size. */
typedef struct slot {
  const char *name; /* of Lua's, which the pattern's words keep */
  bool is_known;    /* captured before */
  int64_t size;
} slot;

typedef struct matcher {
  ccw_pattern pattern;
  slot slots[CCW_PATTERN_DIMS];
  int count;
  const char *letter; /* captures the dtype; NULL */
} matcher;

/* What the match is made of, as it stands on the stack: words, buffer, name, captures. */
enum { WORDS = 1, BUFFER, NAME, CAPTURES };

/* The slot of a name, which may be known from an earlier match. */
static slot *slot_of(lua_State *L, matcher *m, const char *name)
{
  for (int i = 0; i < m->count; ++i)
    if (strcmp(m->slots[i].name, name) == 0) return &m->slots[i];
  if (m->count == CCW_PATTERN_DIMS) luaL_error(L, "the pattern has more than %d names", CCW_PATTERN_DIMS);
  slot *s = &m->slots[m->count++];
  lua_getfield(L, CAPTURES, name);
  int is_integer;
  *s = (slot){.name = name, .size = lua_tointegerx(L, -1, &is_integer)};
  is_integer = is_integer && lua_type(L, -1) == LUA_TNUMBER;
  s->is_known = is_integer;
  if (!is_integer && !lua_isnil(L, -1)) luaL_error(L, "captures: '%s' is a %s, not a size", name, kind_name(L, -1));
  lua_pop(L, 1);
  return s;
}

/* The dim at field `i` of the word on the top of the stack: a size, a name, or "?". */
static ccw_dim check_dim(lua_State *L, matcher *m, lua_Integer i)
{
  lua_rawgeti(L, -1, i);
  if (lua_isinteger(L, -1)) {
    int64_t size = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return ccw_dim_of_size_(size < 0 ? -1 : size, NULL);
  }
  const char *name = lua_tostring(L, -1); /* the word keeps it */
  lua_pop(L, 1);
  if (strcmp(name, "?") == 0) return ccw_dim_of_size_(CCW_ANY_SIZE, NULL);
  slot *s = slot_of(L, m, name);
  if (s->is_known && s->size < 0) s->size = -1; /* no size, and no wildcard */
  return s->is_known ? ccw_dim_of_size_(s->size, s->name) : ccw_dim_captured_(&s->size, s->name);
}

/* The shape in the word on the top of the stack: its dims as a list at 2, its dtype at 3. */
static void take_shape(lua_State *L, XLA_FFI_Buffer *out_buffer, int64_t *dims)
{
  lua_rawgeti(L, -1, 2);
  out_buffer->rank = (int64_t)lua_rawlen(L, -1);
  out_buffer->dims = dims;
  for (int64_t i = 0; i < out_buffer->rank && i < CCW_MAX_RANK; ++i) {
    lua_rawgeti(L, -1, i + 1);
    dims[i] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  lua_rawgeti(L, -2, 3);
  size_t length;
  const char *dtype = lua_tolstring(L, -1, &length);
  out_buffer->dtype = ccw_dtype_from_name(dtype, length);
  lua_pop(L, 2);
}

/* Dtypes or ranks of the word on the top of the stack, from field 2 on, as a set; the number of them. */
static lua_Integer take_set(lua_State *L, bool are_dtypes, uint64_t *out_set, int64_t *out_last)
{
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1) - 1;
  *out_set = 0;
  for (lua_Integer i = 2; i <= count + 1; ++i) {
    lua_rawgeti(L, -1, i);
    size_t length = 0;
    const char *name = are_dtypes ? lua_tolstring(L, -1, &length) : NULL;
    *out_last = are_dtypes ? (int64_t)ccw_dtype_from_name(name, length) : lua_tointeger(L, -1);
    *out_set |= UINT64_C(1) << (*out_last & 63);
    lua_pop(L, 1);
  }
  return count;
}

/* Replays the word on the top of the stack. */
static void replay(lua_State *L, matcher *m)
{
  lua_rawgeti(L, -1, 1);
  const char *word = lua_tostring(L, -1);
  lua_pop(L, 1);
  uint64_t set;
  int64_t last = 0, dims[CCW_MAX_RANK];
  XLA_FFI_Buffer like = {.struct_size = XLA_FFI_Buffer_STRUCT_SIZE};
  lua_Integer length = (lua_Integer)lua_rawlen(L, -1);
  if (strcmp(word, "dtype") == 0) {
    bool one = take_set(L, true, &set, &last) == 1;
    m->pattern = one ? ccw_pattern_dtype_(m->pattern, (int)last) : ccw_pattern_dtypes_(m->pattern, set);
  } else if (strcmp(word, "rank") == 0) {
    bool one = take_set(L, false, &set, &last) == 1;
    m->pattern = one ? ccw_pattern_rank_(m->pattern, last) : ccw_pattern_ranks_(m->pattern, set);
  } else if (strcmp(word, "dims") == 0) {
    m->pattern = ccw_pattern_no_dims_(m->pattern);
    for (lua_Integer i = 2; i <= length; ++i) m->pattern = ccw_pattern_then_(m->pattern, check_dim(L, m, i));
  } else if (strcmp(word, "dim") == 0) {
    lua_rawgeti(L, -1, 2);
    int64_t place = lua_tointeger(L, -1);
    lua_pop(L, 1);
    m->pattern = ccw_pattern_dim_(m->pattern, place, check_dim(L, m, 3));
  } else if (strcmp(word, "shape_of") == 0) {
    take_shape(L, &like, dims);
    m->pattern = ccw_pattern_shape_of_(m->pattern, &like);
  } else if (strcmp(word, "like") == 0) {
    take_shape(L, &like, dims);
    m->pattern = ccw_pattern_like_(m->pattern, &like);
  } else { /* letter */
    lua_rawgeti(L, -1, 2);
    m->letter = lua_tostring(L, -1); /* the word keeps it */
    lua_getfield(L, CAPTURES, m->letter);
    size_t name_length;
    const char *name = lua_tolstring(L, -1, &name_length);
    ccw_dtype dtype = name ? ccw_dtype_from_name(name, name_length) : XLA_FFI_DataType_INVALID;
    if (!name && !lua_isnil(L, -1)) luaL_error(L, "captures: '%s' is a %s, not a dtype", m->letter, kind_name(L, -1));
    if (name && dtype == XLA_FFI_DataType_INVALID)
      luaL_error(L, "captures: '%s' is '%s', which is no dtype", m->letter, name);
    if (name) m->pattern = ccw_pattern_dtype_(m->pattern, (int)dtype);
    lua_pop(L, 2);
  }
}

static void replay_all(lua_State *L, matcher *m)
{
  *m = (matcher){.pattern = ccw_any()};
  lua_Integer count = (lua_Integer)lua_rawlen(L, WORDS);
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L, WORDS, i);
    replay(L, m);
    lua_pop(L, 1);
  }
}

/* The words, with nothing captured before. */
static void replay_alone(lua_State *L, matcher *m)
{
  lua_settop(L, WORDS);
  lua_settop(L, CAPTURES - 1);
  lua_newtable(L);
  replay_all(L, m);
}

/* match(words, buffer, name, captures) -> table, or nil and a message. The words are lists: {"dtype", "s32", ...}, {"rank", 1, ...},
 * {"dims", "n", 8, "?"}, {"dim", 0, "n"}, {"shape_of", dims}, {"like", dims, dtype}, {"letter", "T"}. The table holds what was
 * captured besides `captures`: the place of the dim by name, from 0; for a letter the dtype. */
static int pattern_match(lua_State *L)
{
  matcher m;
  lua_settop(L, CAPTURES);
  const char *name = luaL_checkstring(L, NAME);
  replay_all(L, &m);
  const ccw_buffer *buffer = check_buffer(L, BUFFER);
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  int64_t dims[CCW_MAX_RANK];
  memcpy(dims, shape->dims, sizeof dims);
  const XLA_FFI_Buffer abi = {
      .struct_size = XLA_FFI_Buffer_STRUCT_SIZE, .dtype = shape->dtype, .rank = shape->rank, .dims = dims};
  if (!ccw_matches_(&abi, m.pattern)) {
    lua_pushnil(L);
    push_problem(L, ccw_mismatch_(name, &abi, m.pattern));
    return 2;
  }
  lua_newtable(L);
  for (int64_t i = m.pattern.count - 1; i >= 0; --i) {
    if (!m.pattern.dims[i].capture) continue;
    lua_pushinteger(L, i);
    lua_setfield(L, -2, m.pattern.dims[i].name);
  }
  if (m.letter) {
    lua_pushstring(L, ccw_dtype_name(abi.dtype));
    lua_setfield(L, -2, m.letter);
  }
  return 1;
}

/* is_refining(words) -> boolean. Whether they give one dtype and one rank by themselves. */
static int pattern_is_refining(lua_State *L)
{
  matcher m;
  replay_alone(L, &m);
  lua_pushboolean(
      L, m.pattern.dtype_is_given && m.pattern.dtype != 0 && m.pattern.rank_is_given && m.pattern.rank >= 0);
  return 1;
}

/* pattern_text(words) -> string. "f32[n,8]", "s32|s64[*1|2]". */
static int pattern_text(lua_State *L)
{
  matcher m;
  replay_alone(L, &m);
  char text[1024];
  ccw_report report = {.text = text, .room = sizeof text};
  ccw_say_pattern_(&report, &m.pattern);
  lua_pushstring(L, text);
  return 1;
}

/* ---- out of text --------------------------------------------------------------------------------------------------- */

/* Ends a word: adds the table on the top of the stack to the list below. */
static void end_word(lua_State *L) { lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1); }

static void begin_word(lua_State *L, const char *word)
{
  lua_newtable(L);
  lua_pushstring(L, word);
  lua_rawseti(L, -2, 1);
}

/* Appends the value on the top of the stack to the word below. */
static void add_to_word(lua_State *L) { end_word(L); }

static void push_dim(lua_State *L, const ccw_signature_dim *dim)
{
  if (dim->capture)
    lua_pushstring(L, dim->capture->name);
  else if (dim->size >= 0)
    lua_pushinteger(L, dim->size);
  else
    lua_pushliteral(L, "?");
}

static void push_dtypes(lua_State *L, const ccw_signature_pattern *pattern)
{
  if (pattern->letter) {
    begin_word(L, "letter");
    lua_pushstring(L, pattern->letter->name);
    add_to_word(L);
    end_word(L);
  }
  if (pattern->dtypes == UINT64_MAX) return;
  begin_word(L, "dtype");
  for (int dtype = 0; dtype < 64; ++dtype) {
    if (!(pattern->dtypes >> dtype & 1)) continue;
    lua_pushstring(L, ccw_dtype_name((ccw_dtype)dtype));
    add_to_word(L);
  }
  end_word(L);
}

/* pattern_words(signature) -> list. The words of the pattern of its only argument. */
static int pattern_words(lua_State *L)
{
  const ccw_signature *signature = check_box(L, 1, CCW_SIGNATURE);
  const ccw_signature_pattern *pattern = ccw_signature_pattern_of(signature, 0);
  luaL_argcheck(L, pattern && !pattern->is_unknown, 1, "expected one pattern");
  lua_newtable(L);
  push_dtypes(L, pattern);
  uint64_t whole = UINT64_C(1) << pattern->size;
  if (pattern->ranks == whole) {
    begin_word(L, "dims");
    for (int64_t i = 0; i < pattern->size; ++i) {
      push_dim(L, &pattern->dims[i]);
      add_to_word(L);
    }
    end_word(L);
    return 1;
  }
  for (int64_t i = 0; i < pattern->size; ++i) {
    begin_word(L, "dim");
    lua_pushinteger(L, i);
    add_to_word(L);
    push_dim(L, &pattern->dims[i]);
    add_to_word(L);
    end_word(L);
  }
  if (pattern->size > 0 || (pattern->ranks >> CCW_MAX_RANK & 1)) return 1; /* [n,*] and [*] */
  begin_word(L, "rank");
  for (int64_t rank = 0; rank <= CCW_MAX_RANK; ++rank) {
    if (!(pattern->ranks >> rank & 1)) continue;
    lua_pushinteger(L, rank);
    add_to_word(L);
  }
  end_word(L);
  return 1;
}

void open_patterns(lua_State *L)
{
  static const luaL_Reg functions[] = {{"match", pattern_match}, {"is_refining", pattern_is_refining},
      {"pattern_text", pattern_text}, {"pattern_words", pattern_words}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
