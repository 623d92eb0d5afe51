/* program.h: what the program has besides the modules: interrupts and the console. */
#ifndef CCW_PROGRAM_H
#define CCW_PROGRAM_H

#include <lua.h>

/* Writes to standard error, as a signal handler may. */
void say(const char *text);

/* Add their functions to the module ccw.program, which is on the top of the stack. */
void open_interrupts(lua_State *L);
void open_console(lua_State *L);

#endif
