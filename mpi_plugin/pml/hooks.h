/* Open MPI's memory hooks, given to the library: a device that keeps registrations of memory is told when it
 * goes away. */
#ifndef MCA_PML_STRIA_HOOKS_H
#define MCA_PML_STRIA_HOOKS_H

/* Before the worker is opened. Nothing is patched until a device wants to know. */
void pml_stria_hooks_open(void);
/* After the worker was closed. */
void pml_stria_hooks_close(void);

#endif
