/* The fold of ../src/lib.rs for extents, by the programs of common_extent.c. */

#include COMMON
#include "words.h"

static uint64_t size_of(struct extent extent) { return extent.kind == 0 ? extent.size : 0; }

void c_push_extents(const uint64_t *a, uint64_t *r) {
  struct rules rules = rules_of(a[0]);
  struct extent sizes[LENGTH], pushed[LENGTH];
  for (int k = 0; k < LENGTH; k++) {
    sizes[k].kind = a[D + k];
    sizes[k].size = a[A + k];
    pushed[k].kind = a[E + k];
    pushed[k].size = a[C + k];
  }
  copy(r + B, a + B);
  struct common common = resume(sizes, a[1], r + B, a[2], a[3], a[4]);
  struct __push_result result = push(rules, &common, pushed, a[5]);
  r[0] = result.__field_0;
  r[1] = result.__field_1;
  r[2] = result.__field_2;
  r[3] = result.__field_3;
  r[4] = result.__field_4;
  r[9] = size_of(result.__field_5);
  r[10] = size_of(result.__field_6);
  r[11] = result.__field_5.kind;
  r[12] = result.__field_6.kind;
  r[5] = common.sizes + common.room - shape(&common);
  r[6] = common.from + common.room - from_inputs(&common);
  r[7] = inputs_so_far(&common);
  r[8] = finish(rules, &common).__field_1;
  for (int k = 0; k < LENGTH; k++) {
    r[D + k] = sizes[k].kind;
    r[A + k] = size_of(sizes[k]);
  }
}
