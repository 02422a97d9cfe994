/* Misspelt MCA parameters. Open MPI accepts any name in `--mca name value`, in the environment and in a file
 * of parameters, and drops a name that no component has registered without a message. This file looks in
 * those places for names that begin as stria's do (pml_stria_, mpool_stria_) and are not registered, and
 * reports each of them with the nearest name that is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_var.h"
#include "pml_stria.h"

extern char** environ;

enum { kLongestName = 128, kMostReports = 8 };
static const char* const kPrefixes[] = {"pml_stria_", "mpool_stria_"};

/* How many letters have to be inserted, removed or replaced to turn `a` into `b` (Levenshtein distance). */
static size_t letters_apart(const char* a, const char* b) {
  size_t
      row[kLongestName + 1]; /* row[i]: distance from the letters of `a` seen so far to the first i of `b` */
  const size_t length = strnlen(b, kLongestName);
  for (size_t i = 0; i <= length; ++i) row[i] = i;
  for (size_t seen = 1; '\0' != a[seen - 1]; ++seen) {
    size_t diagonal = row[0];
    row[0] = seen;
    for (size_t i = 1; i <= length; ++i) {
      const size_t replaced = diagonal + (a[seen - 1] != b[i - 1]);
      const size_t shorter = row[i] < row[i - 1] ? row[i] + 1 : row[i - 1] + 1;
      diagonal = row[i];
      row[i] = replaced < shorter ? replaced : shorter;
    }
  }
  return row[length];
}

/* The registered name that begins with `prefix` and is nearest to `name`; NULL when there is none, as when a
 * component was not loaded. `*distance` is in letters. */
static const char* nearest_name(const char* name, const char* prefix, size_t* distance) {
  const char* nearest = NULL;
  const int count = mca_base_var_get_count();
  for (int i = 0; i < count; ++i) {
    const mca_base_var_t* var = NULL;
    if (OPAL_SUCCESS != mca_base_var_get(i, &var) || NULL == var || NULL == var->mbv_full_name ||
        0 != strncmp(var->mbv_full_name, prefix, strlen(prefix))) {
      continue;
    }
    const size_t apart = letters_apart(name, var->mbv_full_name);
    if (NULL == nearest || apart < *distance) {
      nearest = var->mbv_full_name;
      *distance = apart;
    }
  }
  return nearest;
}

/* Reports the name at the beginning of `text`, which ends at '=' or a blank, when it begins as stria's
 * parameters do and is not registered. `place`: where the parameter is set, in words. */
static void report(const char* text, const char* place, int* reports) {
  char name[kLongestName];
  (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "= \t\r\n"), text);
  for (size_t i = 0; i < sizeof kPrefixes / sizeof kPrefixes[0]; ++i) {
    if (0 != strncmp(name, kPrefixes[i], strlen(kPrefixes[i]))) continue;
    size_t distance = 0;
    const char* nearest = nearest_name(name, kPrefixes[i], &distance);
    if (NULL == nearest || 0 == distance || ++*reports > kMostReports) return;
    /* A name of which a third or more of the letters differ would mislead. */
    const bool suggests = 3 * distance < strlen(name);
    pml_stria_tell(PML_STRIA_EVERY_RANK,
                   "MCA parameter %s, set %s, does not exist and is ignored%s%s%s; "
                   "`ompi_info --param %.*s stria --level 9` lists those that do",
                   name, place, suggests ? " (did you mean " : "", suggests ? nearest : "",
                   suggests ? "?)" : "", (int)strcspn(name, "_"), name);
    return;
  }
}

/* Reports the unknown names in a file of parameters, which has one `name = value` a line. */
static void report_file(const char* path, int* reports) {
  FILE* file = fopen(path, "re");
  if (NULL == file) return; /* Open MPI's own list names files that need not exist */
  char place[1024];
  (void)snprintf(place, sizeof place, "in %s", path);
  char* line = NULL;
  size_t room = 0;
  while (getline(&line, &room, file) >= 0) report(line + strspn(line, " \t"), place, reports);
  free(line);
  (void)fclose(file);
}

void pml_stria_report_unknown(void) {
  static const char kEnvironment[] = "OMPI_MCA_";
  if (0 != OMPI_PROC_MY_NAME->vpid) return; /* all ranks of a job have the same parameters */
  int reports = 0;
  for (char** entry = environ; NULL != entry && NULL != *entry; ++entry) {
    if (0 != strncmp(*entry, kEnvironment, sizeof kEnvironment - 1)) continue;
    report(*entry + sizeof kEnvironment - 1, "by --mca or in the environment", &reports);
  }
  const int index = mca_base_var_find("opal", "mca", "base", "param_files");
  char** files = NULL;
  if (index < 0 || OPAL_SUCCESS != mca_base_var_get_value(index, &files, NULL, NULL) || NULL == files ||
      NULL == *files) {
    return;
  }
  char* paths = strdup(*files);
  char* rest = paths;
  for (char* path; NULL != paths && NULL != (path = strsep(&rest, ":,"));) report_file(path, &reports);
  free(paths);
}
