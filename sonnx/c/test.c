/* Tests copbroadcast.c for the element type ELEMENT: the examples of broadcast.md, and all pairs and triples of small
 * shapes, compared with the formulas of the specification, which are computed here in another way. */
#include "copbroadcast.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 4, MOST_ELEMENTS = 2048, MOST_INPUTS = 3 };

struct shape {
  int32_t rank;
  int32_t dims[MOST_AXES];
};

static long checks;

static void check(int holds, const char * what) {
  checks++;
  if (!holds) {
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
  }
}

/* _Bool has two values: every number but 0 would be the same one. */
static element numbered(int32_t number) {
  int has_two = (element)(uintptr_t)1 == (element)(uintptr_t)2;
  return (element)(uintptr_t)(has_two ? number & 1 : number);
}

/* [T2] dYm_i */
static int32_t completed(struct shape x, int32_t rank, int32_t i) {
  return i < rank - x.rank ? 1 : x.dims[i - rank + x.rank];
}

/* [T1], [T4] dZ, and an axis of E1 or -1. */
static int32_t expected(const struct shape * x, int inputs, struct shape * z) {
  z->rank = 0;
  for (int m = 0; m < inputs; m++)
    if (x[m].rank > z->rank) z->rank = x[m].rank;
  int32_t fault = -1;
  for (int32_t i = 0; i < z->rank; i++) {
    z->dims[i] = 1;
    for (int m = 0; m < inputs; m++)
      if (completed(x[m], z->rank, i) > z->dims[i]) z->dims[i] = completed(x[m], z->rank, i);
    for (int m = 0; m < inputs; m++)
      if (completed(x[m], z->rank, i) != z->dims[i] && completed(x[m], z->rank, i) != 1) fault = i;
  }
  return fault;
}

/* The axis is one of E1. */
static int is_fault(const struct shape * x, int inputs, struct shape z, int32_t i) {
  for (int m = 0; m < inputs; m++)
    if (completed(x[m], z.rank, i) != z.dims[i] && completed(x[m], z.rank, i) != 1) return 1;
  return 0;
}

/* [T5] */
static int32_t f(int32_t a, int32_t b, int32_t c) { return b == c ? a : 0; }

/* Compares one call of Broadcast with the specification. Returns an axis of E1 or -1, and the common shape. */
static int32_t compare(const struct shape * x, int inputs, struct shape * common) {
  static element from[MOST_ELEMENTS], into[MOST_ELEMENTS];
  struct shape z, shapes[MOST_INPUTS];
  int32_t fault = expected(x, inputs, &z), rank = 0, dims[MOST_AXES], found = -1;
  memcpy(shapes, x, (size_t)inputs * sizeof *x);
  for (int m = 0; m < inputs; m++) rank = clarger_rank(rank, shapes[m].dims, shapes[m].rank);
  check(rank == z.rank, "[T1] the largest rank");
  cstart_dims(dims, rank);
  for (int m = 0; m < inputs && found < 0; m++) found = cjoin_dims(dims, rank, shapes[m].dims, shapes[m].rank);
  check((found < 0) == (fault < 0), "E1 is detected");
  if (found >= 0) {
    check(found < rank && is_fault(x, inputs, z, found), "E1: the axis is at fault");
    return found;
  }
  check(memcmp(dims, z.dims, (size_t)rank * sizeof *dims) == 0, "[T4] the largest dimensions");
  *common = z;
  int32_t count = ccount(dims, rank);
  check(0 < count && count <= MOST_ELEMENTS, "the number of elements");
  for (int m = 0; m < inputs; m++) {
    int32_t elements = ccount(shapes[m].dims, shapes[m].rank);
    for (int32_t p = 0; p < elements; p++) from[p] = numbered(p + 1);
    for (int32_t p = 0; p < count; p++) into[p] = numbered(0);
    struct ctensor input = {shapes[m].rank, shapes[m].dims, from}, output = {rank, dims, into};
    copbroadcast(input, output);
    /* [T3], [T6]: all indexes of Z in order, and the position of each source by Horner's rule. */
    int32_t index[MOST_AXES] = {0};
    for (int32_t p = 0; p < count; p++) {
      int32_t source = 0;
      for (int32_t i = rank - x[m].rank; i < rank; i++) {
        int32_t b = completed(x[m], rank, i);
        source = source * b + f(index[i], b, z.dims[i]);
      }
      check(into[p] == from[source], "[T6] an element");
      check(csource_offset(shapes[m].dims, shapes[m].rank, dims, rank, p) == source, "[T6] a position");
      for (int32_t i = rank - 1; i >= 0 && ++index[i] == z.dims[i]; i--) index[i] = 0;
    }
  }
  return -1;
}

static void example(int inputs, const struct shape * x, int32_t fault, struct shape z) {
  struct shape common = {0, {0}};
  int32_t found = compare(x, inputs, &common);
  check(found == fault, "an example: E1");
  if (fault < 0)
    check(common.rank == z.rank && memcmp(common.dims, z.dims, (size_t)z.rank * sizeof *z.dims) == 0,
          "an example: the common shape");
}

/* Examples 2 and 3 of broadcast.md. */
static void examples(void) {
  const struct shape none = {0, {0}};
  example(2, (struct shape[]){{4, {8, 1, 6, 1}}, {3, {7, 1, 5}}}, -1, (struct shape){4, {8, 7, 6, 5}});
  example(2, (struct shape[]){{2, {5, 4}}, {1, {1}}}, -1, (struct shape){2, {5, 4}});
  example(2, (struct shape[]){{2, {5, 4}}, {1, {4}}}, -1, (struct shape){2, {5, 4}});
  example(2, (struct shape[]){{3, {15, 3, 5}}, {3, {15, 1, 5}}}, -1, (struct shape){3, {15, 3, 5}});
  example(2, (struct shape[]){{3, {15, 3, 5}}, {2, {3, 5}}}, -1, (struct shape){3, {15, 3, 5}});
  example(2, (struct shape[]){{3, {15, 3, 5}}, {2, {3, 1}}}, -1, (struct shape){3, {15, 3, 5}});
  example(2, (struct shape[]){{1, {3}}, {1, {4}}}, 0, none);
  example(2, (struct shape[]){{2, {2, 1}}, {3, {8, 4, 3}}}, 1, none);
  example(1, (struct shape[]){{0, {0}}}, -1, (struct shape){0, {0}});
  example(2, (struct shape[]){{0, {0}}, {2, {2, 3}}}, -1, (struct shape){2, {2, 3}});
  example(1, (struct shape[]){{2, {4, 1}}}, -1, (struct shape){2, {4, 1}});
  example(3, (struct shape[]){{2, {4, 1}}, {1, {3}}, {3, {2, 1, 1}}}, -1, (struct shape){3, {2, 4, 3}});
}

/* Example 1, with the operator of two inputs. */
static void two_inputs(void) {
  int32_t d0[] = {3, 1}, d1[] = {4}, dz[] = {3, 4};
  element x0[3], x1[4], z0[12], z1[12];
  for (int32_t p = 0; p < 3; p++) x0[p] = numbered(p + 1);
  for (int32_t p = 0; p < 4; p++) x1[p] = numbered(10 * (p + 1));
  copbroadcast2((struct ctensor){2, d0, x0}, (struct ctensor){1, d1, x1}, (struct ctensor){2, dz, z0},
                (struct ctensor){2, dz, z1});
  for (int32_t p = 0; p < 12; p++) check(z0[p] == x0[p / 4] && z1[p] == x1[p % 4], "example 1");
}

static void large(void) {
  int32_t most[] = {65536, 32767}, one_more[] = {65536, 32768}, much_more[] = {65536, 65536, 65536, 65536};
  check(ccount(most, 2) == 65536 * 32767, "a count that fits");
  check(ccount(one_more, 2) == -1 && ccount(much_more, 4) == -1, "a count that does not fit");
}

/* All shapes of rank 0 to 3 with dimensions 1 to 3: 40 of them. */
static int all_shapes(struct shape * shapes) {
  int count = 0;
  for (int32_t rank = 0; rank <= 3; rank++) {
    struct shape x = {rank, {1, 1, 1, 1}};
    for (;;) {
      shapes[count++] = x;
      int32_t i = rank - 1;
      while (i >= 0 && x.dims[i] == 3) x.dims[i--] = 1;
      if (i < 0) break;
      x.dims[i]++;
    }
  }
  return count;
}

int main(void) {
  struct shape shapes[40], common;
  int count = all_shapes(shapes);
  check(count == 40, "the number of shapes");
  examples();
  two_inputs();
  large();
  for (int a = 0; a < count; a++)
    for (int b = 0; b < count; b++) {
      compare((struct shape[]){shapes[a], shapes[b]}, 2, &common);
      for (int c = 0; c < count; c += 3) compare((struct shape[]){shapes[a], shapes[b], shapes[c]}, 3, &common);
    }
  printf("%ld checks of elements of %d bytes passed\n", checks, (int)sizeof(element));
  return 0;
}
