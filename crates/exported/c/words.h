/* The places of arguments and results, as in ../src/lib.rs, and its rule sets, by the proven programs that are included
   before. */

enum { LENGTH = 4, A = 16, B = 24, C = 32, D = 40, E = 48 };

static inline struct rules rules_of(uint64_t number) {
  struct rules rules = number % 2 == 0 ? standard() : sonnx();
  return number >= 2 ? strict_rank(rules) : rules;
}

static inline void copy(uint64_t *to, const uint64_t *from) {
  for (int k = 0; k < LENGTH; k++)
    to[k] = from[k];
}
