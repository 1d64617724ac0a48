/* Keeps a core from sleeping and touches nothing: no memory, so that what it is put beside keeps its caches. Dies with the bench. */
#include <signal.h>
#include <sys/prctl.h>

int main(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) __asm__ volatile("");
}
