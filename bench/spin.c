/* Keeps a core from sleeping and touches nothing: no memory, so that what it is put beside keeps its caches. */
int main(void) {
  for (;;) __asm__ volatile("");
}
