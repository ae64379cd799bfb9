/* A libpmix.so.2 whose daemon does not answer: the call that STUCK names never returns. TOLD names a file by which
 * ranks hear what rank 0 has put. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct value { /* pmix_value_t with a string */
  uint16_t type;
  char* text;
};

static int call(const char* name) {
  fprintf(stderr, "called %s\n", name);
  while (strcmp(name, getenv("STUCK")) == 0) pause();
  return 0;
}

int PMIx_Init(void* self, void* info, size_t infos) {
  return (void)self, (void)info, (void)infos, call("init");
}
int PMIx_Commit(void) {
  return call("commit");
}
int PMIx_Fence(const void* ranks, size_t count, const void* info, size_t infos) {
  return (void)ranks, (void)count, (void)info, (void)infos, call("fence");
}
int PMIx_Finalize(const void* info, size_t infos) {
  return (void)info, (void)infos, call("finalize");
}
const char* PMIx_Error_string(int status) {
  return (void)status, "an error";
}

int PMIx_Put(int scope, const char* key, struct value* value) {
  (void)scope, (void)key;
  char part[1000];
  snprintf(part, sizeof part, "%s.part", getenv("TOLD"));
  FILE* const file = fopen(part, "w");
  fputs(value->text, file);
  fclose(file);
  rename(part, getenv("TOLD"));
  return call("put");
}

int PMIx_Get(const void* rank, const char* key, const void* info, size_t infos, struct value** value) {
  (void)rank, (void)key, (void)info, (void)infos;
  FILE* file = NULL;
  while ((file = fopen(getenv("TOLD"), "r")) == NULL) usleep(10000);
  *value = calloc(1, 32); /* the size of pmix_value_t */
  (*value)->type = 3;     /* PMIX_STRING */
  (*value)->text = calloc(1, 2000);
  (void)!fread((*value)->text, 1, 1999, file);
  fclose(file);
  return call("get");
}
