/* Loaded before Open MPI's libraries, makes them say that they are of another release. */
__attribute__((visibility("default"))) extern const char opal_version_string[];
const char opal_version_string[] = "9.8.7";
