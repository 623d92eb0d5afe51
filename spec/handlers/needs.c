/* needs.c: a library that cannot be loaded, for want of a library or of a symbol. */
int ccw_spec_absent(void);
__attribute__((visibility("default"))) int needs(void);
int needs(void) { return ccw_spec_absent(); }
