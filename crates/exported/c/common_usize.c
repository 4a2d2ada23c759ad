/* The folds of ../src/lib.rs for known sizes, by the programs of common_usize.c. */

#include COMMON
#include "words.h"

void c_join_shape(const uint64_t *a, uint64_t *r) {
  copy(r + A, a + A);
  r[0] = join_shape(rules_of(a[0]), r + A, a[1], (uint64_t *)a + B, a[2]);
}

void c_new(const uint64_t *a, uint64_t *r) {
  copy(r + A, a + A);
  copy(r + B, a + B);
  struct common common = new(r + A, a[1], r + B, a[2]);
  r[0] = common.rank;
  r[1] = inputs_so_far(&common);
}

void c_push(const uint64_t *a, uint64_t *r) {
  struct rules rules = rules_of(a[0]);
  copy(r + A, a + A);
  copy(r + B, a + B);
  struct common common = resume(r + A, a[1], r + B, a[2], a[3], a[4]);
  struct __push_result result = push(rules, &common, (uint64_t *)a + C, a[5]);
  r[0] = result.__field_0;
  r[1] = result.__field_1;
  r[2] = result.__field_2;
  r[3] = result.__field_3;
  r[4] = result.__field_4;
  r[9] = result.__field_5;
  r[10] = result.__field_6;
  /* The lengths of the slices that shape and from_inputs start. */
  r[5] = common.sizes + common.room - shape(&common);
  r[6] = common.from + common.room - from_inputs(&common);
  r[7] = inputs_so_far(&common);
  r[8] = finish(rules, &common).__field_1;
}

void c_fast(const uint64_t *a, uint64_t *r) {
  struct rules rules = rules_of(a[0]);
  uint64_t *words = (uint64_t *)a;
  copy(r + D, a + D);
  struct fast common = fast_new(r + D, a[1]);
  for (uint64_t k = 0; k < a[2]; k++)
    fast_push(rules, &common, words + A + (B - A) * k, a[3 + k]);
  r[1] = fast_inputs_so_far(&common);
  r[0] = fast_finish(rules, &common);
}
