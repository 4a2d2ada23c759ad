/* The functions of ../src/lib.rs, by the programs of core.c. */

#include CORE
#include "words.h"

void c_rules(const uint64_t *a, uint64_t *r) {
  struct rules rules = rules_of(a[0]);
  r[0] = stretches_to(rules, a[1]);
  r[1] = is_strict_rank(rules);
  r[2] = min_inputs(rules);
  r[3] = max_inputs(rules);
}

void c_broadcast_dim(const uint64_t *a, uint64_t *r) {
  struct __broadcast_dim_result result = broadcast_dim(rules_of(a[0]), a[1], a[2]);
  r[0] = result.__field_0;
  r[1] = result.__field_0 ? result.__field_1 : 0;
}

void c_join_extents(const uint64_t *a, uint64_t *r) {
  struct extent x = {a[1], a[2]}, y = {a[3], a[4]};
  struct __join_extents_result result = join_extents(rules_of(a[0]), x, y);
  struct extent joined = result.__field_1;
  r[0] = result.__field_0;
  r[1] = result.__field_0 ? joined.kind : 0;
  r[2] = result.__field_0 && joined.kind == 0 ? joined.size : 0;
}

void c_padded_dim(const uint64_t *a, uint64_t *r) {
  r[0] = padded_dim((uint64_t *)a + A, a[1], a[2], a[3]);
}

static void write_stretch(struct stretch_result result, uint64_t *r) {
  r[0] = result.code;
  r[1] = result.rank;
  r[2] = result.target_rank;
  r[3] = result.dim;
  r[4] = result.size;
  r[5] = result.target;
}

void c_check_broadcast_to(const uint64_t *a, uint64_t *r) {
  uint64_t *words = (uint64_t *)a;
  write_stretch(check_broadcast_to(rules_of(a[0]), words + A, a[1], words + B, a[2]), r);
}

void c_broadcast_strides(const uint64_t *a, uint64_t *r) {
  uint64_t *words = (uint64_t *)a;
  copy(r + D, a + D);
  write_stretch(broadcast_strides(rules_of(a[0]), words + A, a[1], (int64_t *)(words + B), a[2], words + C,
                                  a[3], (int64_t *)(r + D), a[4]),
                r);
}

static void write_count(struct counted count, uint64_t *r) {
  r[0] = count.fits;
  r[1] = count.fits ? count.number : 0;
}

void c_element_count(const uint64_t *a, uint64_t *r) {
  write_count(element_count((uint64_t *)a + A, a[1]), r);
}

void c_byte_count(const uint64_t *a, uint64_t *r) {
  write_count(byte_count((uint64_t *)a + A, a[1], a[2]), r);
}

void c_fits_isize(const uint64_t *a, uint64_t *r) { r[0] = fits_isize((uint64_t *)a + A, a[1]); }

void c_index_map(const uint64_t *a, uint64_t *r) { r[0] = index_map(a[1], a[2], a[3]); }

static void write_layout(struct layout_result result, uint64_t *r) {
  r[0] = result.code;
  r[1] = result.dim;
  r[2] = result.index;
  r[3] = result.size;
  r[4] = result.distance;
}

void c_source_index(const uint64_t *a, uint64_t *r) {
  uint64_t *words = (uint64_t *)a;
  copy(r + D, a + D);
  write_layout(source_index(words + A, a[1], words + B, a[2], words + C, a[3], r + D, a[4]), r);
}

void c_source_offset(const uint64_t *a, uint64_t *r) {
  uint64_t *words = (uint64_t *)a;
  write_layout(source_offset(words + A, a[1], (int64_t *)(words + B), a[2], words + C, a[3]), r);
}
