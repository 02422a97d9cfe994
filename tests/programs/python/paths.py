"""Which paths messages took: stria's counters, read through MPI's tool interface (MPI_T), which mpi4py 3 does not wrap.
Over another transport there are no such counters, and the answers are empty."""
import ctypes

NAMES = ["eager", "get", "both", "pipeline", "mapped", "mapped_both"]  # pml_stria_received_<name>
THREAD_SINGLE = 0             # MPI_THREAD_SINGLE
PVAR_CLASS_COUNTER = 6        # MPI_T_PVAR_CLASS_COUNTER in Open MPI's mpi.h


class Counters:
    """Counts from when it was made on: a counter's handle begins at zero."""

    def __init__(self):
        self.library, self.session, self.handles = ctypes.CDLL("libmpi.so.40"), ctypes.c_void_p(), {}
        self.library.MPI_T_init_thread(THREAD_SINGLE, ctypes.byref(ctypes.c_int()))
        self.library.MPI_T_pvar_session_create(ctypes.byref(self.session))
        for name in NAMES:
            index, count, handle = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
            variable = f"pml_stria_received_{name}".encode()
            if self.library.MPI_T_pvar_get_index(variable, PVAR_CLASS_COUNTER, ctypes.byref(index)) == 0:
                self.library.MPI_T_pvar_handle_alloc(self.session, index, None, ctypes.byref(handle), ctypes.byref(count))
                self.handles[name] = handle

    def received(self):
        """{path: messages that this rank received by it}"""
        values = {}
        for name, handle in self.handles.items():
            value = ctypes.c_ulonglong()
            if self.library.MPI_T_pvar_read(self.session, handle, ctypes.byref(value)) == 0:
                values[name] = value.value
        return values

    def close(self):
        for handle in self.handles.values():
            self.library.MPI_T_pvar_handle_free(self.session, ctypes.byref(handle))
        self.library.MPI_T_pvar_session_free(ctypes.byref(self.session))
        self.library.MPI_T_finalize()
