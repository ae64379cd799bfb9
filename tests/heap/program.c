// A program that knows nothing of a shared heap: it takes its memory from the C library, and checks what it gets.
// Usage: program sum|fork|threads|moves. Prints "right", and for sum whether rank 0 has mapped its peer's buffer.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hocket/hocket.h"

enum { large = 3 << 20 };

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static int holds(const unsigned char* memory, size_t bytes, int value) {
  for (size_t i = 0; i < bytes; ++i) {
    if (memory[i] != (unsigned char)value) return 0;
  }
  return 1;
}

// The inode of the file that is mapped at this address; 0: none.
static unsigned long long file_at(const void* address, unsigned long long inode_wanted) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) fail("no maps");
  char line[4096];
  unsigned long long found = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long long from = 0, to = 0, inode = 0;
    if (sscanf(line, "%llx-%llx %*s %*s %*s %llu", &from, &to, &inode) != 3) continue;
    const int here = address != NULL && from <= (uintptr_t)address && (uintptr_t)address < to;
    if (here || (address == NULL && inode == inode_wanted)) found = inode;
  }
  fclose(maps);
  return found;
}

static int sum(void) {
  hocket_comm* comm = NULL;
  if (hocket_comm_create(&comm, NULL) != HOCKET_OK) fail(hocket_last_error());
  int32_t rank = 0;
  hocket_comm_rank(comm, &rank);
  const size_t count = large / sizeof(float);
  unsigned long long files[2] = {0, 0};
  for (int round = 0; round < 20; ++round) {  // freed memory is used again
    float* const in = malloc(large);
    float* const out = calloc(count, sizeof(float));
    for (size_t i = 0; i < count; ++i) {
      if (out[i] != 0) fail("calloc is not zeroed");
      in[i] = (float)(rank + round);
    }
    const unsigned long long own = file_at(in, 0);
    if (hocket_allgather(&own, files, 1, HOCKET_UINT64, comm, NULL, NULL) != HOCKET_OK) fail(hocket_last_error());
    if (hocket_allreduce(in, out, count, HOCKET_FLOAT32, HOCKET_SUM, comm, NULL, NULL) != HOCKET_OK)
      fail(hocket_last_error());
    for (size_t i = 0; i < count; ++i) {
      if (out[i] != (float)(1 + 2 * round)) fail("a wrong sum");
    }
    if (round == 19 && rank == 0) {
      printf("own %s, peer's %s\n", own != 0 ? "shared" : "plain",
             files[1] != 0 && file_at(NULL, files[1]) != 0 ? "mapped" : "not mapped");
    }
    free(in);
    free(out);
  }
  return hocket_comm_destroy(comm) == HOCKET_OK ? 0 : 1;
}

// What parent and child write after a fork is their own.
static int forks(void) {
  for (int round = 0; round < 10; ++round) {
    unsigned char* const memory = malloc(large);
    unsigned char* const freed = malloc(large);
    free(freed);
    memset(memory, 1, large);
    int to_child[2], to_parent[2];
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) fail("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      char go = 0;
      if (read(to_child[0], &go, 1) != 1) _exit(2);  // the parent has written by now
      if (!holds(memory, large, 1)) _exit(3);
      memset(memory, 3, large);
      if (write(to_parent[1], "", 1) != 1) _exit(4);
      unsigned char* const more = malloc(large);
      memset(more, 4, large);
      free(memory);
      free(more);
      _exit(0);
    }
    memset(memory, 2, large);
    char done = 0;
    if (write(to_child[1], "", 1) != 1 || read(to_parent[0], &done, 1) != 1) fail("no child");
    if (!holds(memory, large, 2)) fail("the child has written into its parent's memory");
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
      fail("the child has not seen what there was before the fork");
    free(memory);
    close(to_child[0]), close(to_child[1]), close(to_parent[0]), close(to_parent[1]);
  }
  return 0;
}

static void* allocate_much(void* number) {
  unsigned seed = (unsigned)(uintptr_t)number;
  enum { kept = 6 };
  unsigned char* blocks[kept] = {0};
  size_t sizes[kept] = {0};
  for (int i = 0; i < 400; ++i) {
    const unsigned at = (unsigned)rand_r(&seed) % kept;
    if (blocks[at] != NULL && !holds(blocks[at], sizes[at], (int)at + 1)) fail("a block has lost its contents");
    sizes[at] = (size_t)rand_r(&seed) % (4u << 20);
    if (i % 3 == 0) {
      free(blocks[at]);
      blocks[at] = malloc(sizes[at]);
    } else {
      blocks[at] = realloc(blocks[at], sizes[at] + 1);
    }
    if (blocks[at] == NULL && sizes[at] > 0) fail("no memory");
    memset(blocks[at], (int)at + 1, sizes[at]);
  }
  for (int at = 0; at < kept; ++at) free(blocks[at]);
  return NULL;
}

static int threads(void) {
  pthread_t all[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    if (pthread_create(&all[i], NULL, allocate_much, (void*)(i + 1)) != 0) fail("no thread");
  }
  for (int i = 0; i < 4; ++i) pthread_join(all[i], NULL);
  return 0;
}

// Blocks that grow and shrink across the limit keep what they hold, at every alignment.
static int moves(void) {
  unsigned char* memory = malloc(1000);
  memset(memory, 7, 1000);
  memory = realloc(memory, 2 << 20);
  memory = realloc(memory, 9 << 20);
  if (!holds(memory, 1000, 7)) fail("growing has lost something");
  memory = realloc(memory, 500);
  if (!holds(memory, 500, 7)) fail("shrinking has lost something");
  free(memory);
  for (size_t alignment = sizeof(void*); alignment <= (1u << 21); alignment *= 2) {
    void* aligned = NULL;
    if (posix_memalign(&aligned, alignment, large) != 0 || (uintptr_t)aligned % alignment != 0) fail("not aligned");
    memset(aligned, 1, large);
    free(aligned);
  }
  volatile size_t most = PTRDIFF_MAX;  // not seen by the compiler, which would refuse it
  if (calloc(most, 4) != NULL || malloc(most) != NULL) fail("more memory than there is");
  return 0;
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    int (*run)(void);
  } all[] = {{"sum", sum}, {"fork", forks}, {"threads", threads}, {"moves", moves}};
  for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; ++i) {
    if (strcmp(argv[1], all[i].name) != 0) continue;
    if (all[i].run() != 0) return 1;
    puts("right");
    return 0;
  }
  return 2;
}
