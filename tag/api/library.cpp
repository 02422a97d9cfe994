// The shared library is the engine room behind the exported functions of stria.h; it adds nothing of its own.
