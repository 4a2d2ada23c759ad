/* Broadcast on C tensors: reference implementation.
 *
 * copbroadcast.c is extracted from the proven module COPBroadcast (../formal/cbroadcast.mlw); do not edit it. The
 * contracts below are those of the proof, in words. Nothing is allocated, no global variable is used, and arguments are
 * not checked: a caller must satisfy what a function requires.
 *
 * One call of Broadcast, Z0, ..., ZL = Broadcast(X0, ..., XL):
 *
 *   int32_t rank = 0;
 *   for (m = 0; m <= L; m++) rank = clarger_rank(rank, X[m].t_dims, X[m].t_rank);
 *   cstart_dims(dims, rank);                           // dims: `rank` integers of the caller
 *   for (m = 0; m <= L; m++)
 *     if (cjoin_dims(dims, rank, X[m].t_dims, X[m].t_rank) >= 0) ...  // error condition E1
 *   if (ccount(dims, rank) < 0) ...                    // more than 2^31 - 1 elements
 *   for (m = 0; m <= L; m++) copbroadcast(X[m], Z[m]); // Z[m]: t_rank = rank, t_dims = dims
 */
#ifndef COPBROADCAST_H
#define COPBROADCAST_H

#include <stdint.h>

/* The element type [C1]: any type that can be assigned, by -DELEMENT=TYPE. Elements are copied and never interpreted.
 * A program with several element types compiles copbroadcast.c once for each, and renames its functions by -D. */
#ifndef ELEMENT
#define ELEMENT double
#endif
typedef ELEMENT element;

/* A tensor of rank t_rank with dimensions t_dims and elements t_data, in row-major order.
 * Valid: 0 <= t_rank; each dimension is at least 1 [R1]; their product is at most 2^31 - 1, and t_data has as many
 * elements. */
struct ctensor {
  int32_t t_rank;
  int32_t * t_dims;
  element * t_data;
};

/* [T1] The larger of `rank`, the largest rank of the inputs so far (0 at first), and `n`, the rank of the next input.
 * `ds` is not accessed. */
int32_t clarger_rank(int32_t rank, int32_t * ds, int32_t n);

/* Writes `rank` ones to `zs`: the common dimensions of no input. */
void cstart_dims(int32_t * zs, int32_t rank);

/* [T2] [T4] Joins the dimensions `ds` of the next input, of rank `n`, to the common dimensions `zs` of the inputs so far.
 * Requires 0 <= n <= rank and positive dimensions. Returns -1. If the inputs are incompatible (E1), returns an axis along
 * which they are, and the contents of `zs` must not be used further. */
int32_t cjoin_dims(int32_t * zs, int32_t rank, int32_t * ds, int32_t n);

/* The number of elements of a tensor with the `n` positive dimensions `u`; -1 if it exceeds 2^31 - 1. */
int32_t ccount(int32_t * u, int32_t n);

/* [T3] [T5] [T6] The position in X of the element that Z has at position `p`.
 * Requires valid dimensions `xs` of X and `zs` of Z, 0 <= n <= rank, and 0 <= p < ccount(zs, rank). */
int32_t csource_offset(int32_t * xs, int32_t n, int32_t * zs, int32_t rank, int32_t p);

/* [T6] [C1] [C2] Writes output `r` for input `x`.
 * Requires valid tensors whose elements do not overlap; r has the common dimensions of all inputs, and x is one of
 * them. Dimensions may be shared. */
void copbroadcast(struct ctensor x, struct ctensor r);

/* Z0, Z1 = Broadcast(X0, X1). Requires, of both inputs and their outputs, what copbroadcast requires. */
void copbroadcast2(struct ctensor x0, struct ctensor x1, struct ctensor z0, struct ctensor z1);

#endif
