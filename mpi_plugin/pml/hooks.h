/* Passes Open MPI's memory hooks to the library, so that a device that keeps registrations of memory is told
 * when the memory is given back to the system. */
#ifndef MCA_PML_STRIA_HOOKS_H
#define MCA_PML_STRIA_HOOKS_H

/* Called before the worker is opened. The hooks are installed only when a device asks for them. */
void pml_stria_hooks_open(void);
/* Called after the worker was closed. */
void pml_stria_hooks_close(void);

#endif
