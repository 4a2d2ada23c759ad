/* Extracted from ../formal/cbroadcast.mlw by Why3; do not edit. */
#include "copbroadcast.h"

int32_t ccount(int32_t * u, int32_t n) {
  int32_t count, i;
  int32_t d;
  count = 1;
  i = n;
  while (0 < i) {
    i = i - 1;
    d = u[i];
    if (count > 2147483647 / d) {
      return -1;
    }
    count = count * d;
  }
  return count;
}

int32_t csource_offset(int32_t * xs, int32_t n, int32_t * zs, int32_t rank,
                       int32_t p) {
  int32_t added, d, k, b;
  int32_t rest, stride, source, i;
  added = rank - n;
  rest = p;
  stride = 1;
  source = 0;
  i = rank;
  while (0 < i) {
    i = i - 1;
    d = zs[i];
    k = rest % d;
    if (added <= i) {
      b = xs[i - added];
      if (b == d) {
        source = source + k * stride;
      }
      stride = stride * b;
    }
    rest = rest / d;
  }
  return source;
}

int32_t clarger_rank(int32_t rank, int32_t * ds, int32_t n) {
  if (rank < n) {
    return n;
  } else {
    return rank;
  }
}

void cstart_dims(int32_t * zs, int32_t rank) {
  int32_t i;
  i = rank;
  while (0 < i) {
    i = i - 1;
    zs[i] = 1;
  }
}

int32_t cjoin_dims(int32_t * zs, int32_t rank, int32_t * ds, int32_t n) {
  int32_t added, c, d;
  int32_t i;
  added = rank - n;
  i = rank;
  while (0 < i) {
    i = i - 1;
    c = zs[i];
    if (added <= i) {
      d = ds[i - added];
      if (c == 1) {
        zs[i] = d;
      } else {
        if (!(d == 1) && !(d == c)) {
          return i;
        }
      }
    }
  }
  return -1;
}

void copbroadcast(struct ctensor x, struct ctensor r) {
  int32_t m, p;
  int32_t i;
  m = ccount(r.t_dims, r.t_rank);
  i = 0;
  while (i < m) {
    p = csource_offset(x.t_dims, x.t_rank, r.t_dims, r.t_rank, i);
    r.t_data[i] = x.t_data[p];
    i = i + 1;
  }
}

void copbroadcast2(struct ctensor x0, struct ctensor x1, struct ctensor z0,
                   struct ctensor z1) {
  copbroadcast(x0, z0);
  copbroadcast(x1, z1);
  return;
}
