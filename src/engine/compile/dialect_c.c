/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives in C: no header, no intrinsic, builtins that gcc and clang both know. */
#include "engine/compile/dialect.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

extern const char compile_prelude[];
extern const char compile_prelude_quotients[];
extern const char compile_prelude_scans[];
extern const char compile_prelude_turn[];
extern const char compile_prelude_flow[];
extern const char compile_prelude_lanes[];
extern const char compile_prelude_places[];
extern const char compile_prelude_product[];
extern const char compile_prelude_winograd[];
extern const char compile_vector_math[], compile_vector_doubles[];
extern const char compile_vector_blocks[];
extern const char compile_vector_erf[];
extern const char compile_vector_expm1[];
extern const char compile_vector_angles[];
extern const char compile_vector_root[];
extern const char compile_vector_pow[];
extern const char compile_vector_ranks[];
extern const char compile_vector_halves[];
extern const char compile_vector_normal[];
extern const char compile_vector_half_normal[];
extern const char compile_vector_half_functions[];
extern const char compile_prelude_halves[];

const char *dialect_type(dtype t) {
    static const char *const types[ASSAY_DTYPE_COUNT] = {
        [ASSAY_F16] = "uint16_t",        [ASSAY_BF16] = "uint16_t",        [ASSAY_F32] = "float",
        [ASSAY_F64] = "double",          [ASSAY_C32] = "uint32_t",         [ASSAY_C64] = "float _Complex",
        [ASSAY_C128] = "double _Complex", [ASSAY_I8] = "int8_t",           [ASSAY_I16] = "int16_t",
        [ASSAY_I32] = "int32_t",         [ASSAY_I64] = "int64_t",          [ASSAY_U8] = "uint8_t",
        [ASSAY_B8] = "uint8_t",
    };
    return types[t];
}

/* How a function is written by the kind of its operands: $a, $b, $c are they, $t their type's short name, $f the suffix of
   libm's functions. NULL: there is none. Complex numbers of floats take a power or a sigmoid in double: the former loses as many digits as
   its exponent times the logarithm has before the point, the latter what 1 and an exponential near -1 have in common. */
typedef struct spelling {
    const char *floating;
    const char *integral;
    const char *boolean;
    const char *of_complex;
} spelling;

static const spelling spellings[FN_COUNT] = {
    [FN_NEG] = {"-$a", "-$a", NULL, "-$a"},
    [FN_ABS] = {"__builtin_fabs$f($a)", "($a < 0 ? -$a : $a)", "$a", "__builtin_cabs$f($a)"},
    [FN_SIGN] = {"sign_$t($a)", "sign_$t($a)", "$a", "sign_$t($a)"},
    [FN_FLOOR] = {"__builtin_floor$f($a)", "$a", "$a", NULL},
    [FN_CEIL] = {"__builtin_ceil$f($a)", "$a", "$a", NULL},
    [FN_TRUNC] = {"__builtin_trunc$f($a)", "$a", "$a", NULL},
    [FN_ROUND] = {"__builtin_rint$f($a)", "$a", "$a", NULL},
    [FN_SQRT] = {"__builtin_sqrt$f($a)", NULL, NULL, "__builtin_csqrt$f($a)"},
    [FN_RSQRT] = {"(1 / __builtin_sqrt$f($a))", NULL, NULL, "quotient_$t(1, __builtin_csqrt$f($a))"},
    [FN_EXP] = {"exp_$t($a)", NULL, NULL, "__builtin_cexp$f($a)"},
    [FN_EXPM1] = {"expm1_$t($a)", NULL, NULL, NULL},
    [FN_EXPM1_BELOW] = {"expm1_below_$t($a)", NULL, NULL, NULL},
    [FN_LOG] = {"log_$t($a)", NULL, NULL, "__builtin_clog$f($a)"},
    [FN_LOG2] = {"log2_$t($a)", NULL, NULL, "(__builtin_clog$f($a) * 1.44269504088896340736)"},
    [FN_LOG1P] = {"__builtin_log1p$f($a)", NULL, NULL, NULL},
    [FN_SIN] = {"sine_$t($a)", NULL, NULL, "__builtin_csin$f($a)"},
    [FN_COS] = {"cosine_$t($a)", NULL, NULL, "__builtin_ccos$f($a)"},
    [FN_TANH] = {"tanh_$t($a)", NULL, NULL, "__builtin_ctanh$f($a)"},
    [FN_ERF] = {"erf_$t($a)", NULL, NULL, NULL},
    [FN_SIGMOID] = {"sigmoid_$t($a)", NULL, NULL, "quotient_c128(1, 1 + __builtin_cexp(-(double _Complex)$a))"},
    [FN_NORMAL_CDF] = {"normal_cdf_$t($a)", NULL, NULL, NULL},
    [FN_NORMAL_SLOPE] = {"normal_slope_$t($a)", NULL, NULL, NULL},
    [FN_NOT] = {NULL, "~$a", "!$a", NULL},
    [FN_IS_NAN] = {"($a != $a)", "0", "0", "($a != $a)"},
    [FN_IS_INF] = {"(__builtin_fabs$f($a) == __builtin_inf$f())", "0", "0",
                   "(__builtin_fabs$f(__real__ $a) == __builtin_inf$f()) | "
                   "(__builtin_fabs$f(__imag__ $a) == __builtin_inf$f())"},
    [FN_ORDER] = {"order_of_$t($a)", NULL, NULL, NULL},
    [FN_OF_ORDER] = {NULL, "f32_of_order($a)", NULL, NULL},
    [FN_REAL] = {"$a", "$a", "$a", "__real__ $a"},
    [FN_IMAG] = {"0", "0", "0", "__imag__ $a"},
    [FN_CONJ] = {"$a", "$a", "$a", "~$a"},
    [FN_ADD] = {"$a + $b", "$a + $b", "$a | $b", "$a + $b"},
    [FN_SUB] = {"$a - $b", "$a - $b", "$a ^ $b", "$a - $b"},
    [FN_MUL] = {"$a * $b", "$a * $b", "$a & $b", "product_$t($a, $b)"},
    [FN_DIV] = {"$a / $b", "div_$t($a, $b)", NULL, "quotient_$t($a, $b)"},
    [FN_FLOOR_DIV] = {"floor_div_$t($a, $b)", "floor_div_$t($a, $b)", NULL, NULL},
    [FN_FMOD] = {"fmod_$t($a, $b)", "fmod_$t($a, $b)", NULL, NULL},
    [FN_REMAINDER] = {"remainder_$t($a, $b)", "remainder_$t($a, $b)", NULL, NULL},
    [FN_POW] = {"pow_$t($a, $b)", "pow_$t($a, $b)", NULL, "__builtin_cpow($a, $b)"},
    [FN_MINIMUM] = {"minimum_$t($a, $b)", "($a < $b ? $a : $b)", "$a & $b", NULL},
    [FN_MAXIMUM] = {"maximum_$t($a, $b)", "($a > $b ? $a : $b)", "$a | $b", NULL},
    [FN_AND] = {NULL, "$a & $b", "$a & $b", NULL},
    [FN_OR] = {NULL, "$a | $b", "$a | $b", NULL},
    [FN_XOR] = {NULL, "$a ^ $b", "$a ^ $b", NULL},
    [FN_SHIFT_LEFT] = {NULL, "$a << $b", NULL, NULL},
    [FN_SHIFT_RIGHT] = {NULL, "$a >> $b", NULL, NULL},
    [FN_COMPLEX] = {"__builtin_complex($a, $b)", NULL, NULL, NULL},
    [FN_EQ] = {"$a == $b", "$a == $b", "$a == $b", "$a == $b"},
    [FN_NE] = {"$a != $b", "$a != $b", "$a != $b", "$a != $b"},
    [FN_LT] = {"$a < $b", "$a < $b", "$a < $b", NULL},
    [FN_LE] = {"$a <= $b", "$a <= $b", "$a <= $b", NULL},
    [FN_GT] = {"$a > $b", "$a > $b", "$a > $b", NULL},
    [FN_GE] = {"$a >= $b", "$a >= $b", "$a >= $b", NULL},
    [FN_SELECT] = {"$a ? $b : $c", "$a ? $b : $c", "$a ? $b : $c", "$a ? $b : $c"},
};

/* Functions that hold nearly everywhere without a branch or a call, and where they do not. */
typedef struct quick_form {
    const char *form;
    const char *fails;
} quick_form;

/* Quotients of whole numbers are exact in double as far as these have digits; processors divide 64-bit integers one at a
   time. */
static const quick_form quick_integral_forms[FN_COUNT] = {
    [FN_DIV] = {"div_near_$t($a, $b)", "no_near_$t($a, $b)"},
    [FN_FLOOR_DIV] = {"floor_div_near_$t($a, $b)", "no_near_$t($a, $b)"},
    [FN_FMOD] = {"fmod_near_$t($a, $b)", "no_near_$t($a, $b)"},
    [FN_REMAINDER] = {"remainder_near_$t($a, $b)", "no_near_$t($a, $b)"},
};

static const quick_form quick_forms[FN_COUNT] = {
    [FN_SIN] = {"sin_f32($a)", "angle_is_large($a)"},
    [FN_COS] = {"cos_f32($a)", "angle_is_large($a)"},
    [FN_FMOD] = {"fmod_quick_f32($a, $b)", "quotient_is_large($a, $b)"},
    [FN_REMAINDER] = {"remainder_quick_f32($a, $b)", "quotient_is_large($a, $b)"},
    [FN_FLOOR_DIV] = {"floor_div_quick_f32($a, $b)", "quotient_is_large($a, $b)"},
};

static const quick_form quick_double_forms[FN_COUNT] = {
    [FN_SIN] = {"sin_f64($a)", "angle_is_large_f64($a)"},
    [FN_COS] = {"cos_f64($a)", "angle_is_large_f64($a)"},
    [FN_FMOD] = {"fmod_near_f64($a, $b)", "quotient_is_far_f64($a, $b)"},
    [FN_REMAINDER] = {"remainder_near_f64($a, $b)", "quotient_is_far_f64($a, $b)"},
    [FN_FLOOR_DIV] = {"floor_div_near_f64($a, $b)", "quotient_is_far_f64($a, $b)"},
};

static quick_form quick_form_of(scalar_function f, dtype t) {
    return t == ASSAY_F32                       ? quick_forms[f]
           : t == ASSAY_F64                     ? quick_double_forms[f]
           : t == ASSAY_I64 || t == ASSAY_I32 ? quick_integral_forms[f]
                                                : (quick_form){NULL, NULL};
}

bool dialect_has_quick(scalar_function f, dtype t) {
    return quick_form_of(f, t).form != NULL;
}

/* Functions of f32 that are cheaper for a block of lanes than for each: with all digits, with those of f16 and with those of bf16. */
static const char *const block_forms[FN_COUNT][3] = {
    [FN_RSQRT] = {"rsqrt_block_f32", "rsqrt_block_halves", "rsqrt_block_halves"},
    [FN_SQRT] = {"sqrt_block_f32", "sqrt_block_halves", "sqrt_block_halves"},
    [FN_EXP] = {"exp_block_f32", "exp_block_f16", "exp_block_bf16"},
    [FN_EXPM1] = {NULL, "expm1_block_halves", "expm1_block_halves"},
    [FN_EXPM1_BELOW] = {"expm1_below_block_f32", "expm1_below_block_halves", "expm1_below_block_halves"},
    [FN_LOG2] = {"log2_block_f32", "log2_block_halves", "log2_block_halves"},
    [FN_SIN] = {"sin_block_f32", "sin_block_f16", "sin_block_bf16"},
    [FN_COS] = {"cos_block_f32", "cos_block_f16", "cos_block_bf16"},
    [FN_SIGMOID] = {"sigmoid_block_f32", "sigmoid_block_f16", "sigmoid_block_bf16"},
    [FN_TANH] = {"tanh_block_f32", "tanh_block_f16", "tanh_block_bf16"},
    [FN_ERF] = {"erf_block_f32", "erf_block_f16", "erf_block_bf16"},
    [FN_NORMAL_CDF] = {"normal_cdf_block_f32", "normal_cdf_block_f16", "normal_cdf_block_bf16"},
    [FN_NORMAL_SLOPE] = {"normal_slope_block_f32", "normal_slope_block_f16", "normal_slope_block_bf16"},
};

const char *dialect_block(scalar_function f, dtype t, dtype digits) {
    return t == ASSAY_F32 ? block_forms[f][digits == ASSAY_BF16 ? 2 : digits == ASSAY_F16 ? 1 : 0] : NULL;
}

const char *dialect_block_divided(scalar_function f, dtype t) {
    return t == ASSAY_F32 && f == FN_SIGMOID ? "sigmoid_divided_block_f32" : NULL;
}

/* The same of two operands, of which the second or the first may be a number. */
static const char *const pair_forms[FN_COUNT][3][3] = {
    [FN_POW] = {{"pow_block_f32", "pow_number_block_f32", "number_pow_block_f32"},
                {"pow_block_halves", "pow_number_block_halves", "number_pow_block_f16"},
                {"pow_block_halves", "pow_number_block_halves", "number_pow_block_bf16"}},
};

const char *dialect_block_of_two(scalar_function f, dtype t, dtype digits, bool first_is_number, bool second_is_number) {
    const int to = digits == ASSAY_BF16 ? 2 : digits == ASSAY_F16 ? 1 : 0;
    return t == ASSAY_F32 ? pair_forms[f][to][second_is_number ? 1 : first_is_number ? 2 : 0] : NULL;
}

const char *dialect_block_below_0(scalar_function f, dtype t) {
    return t == ASSAY_F32 && f == FN_EXP ? "exp_below_block_f32" : NULL;
}

const char *dialect_narrow(dtype t, pair_order pairs) {
    static const char *const of_pairs[] = {[PAIRS_EITHER_WAY] = "bf16_pairs_of_f32s", [PAIRS_NEAREST] = "nearest_bf16_pairs"};
    return pairs != PAIRS_NONE ? of_pairs[pairs] : t == ASSAY_F16 ? "f16s_of_f32s" : t == ASSAY_BF16 ? "bf16s_of_f32s" : NULL;
}

const char *dialect_stream_narrow(dtype t, pair_order pairs) {
    return pairs != PAIRS_NONE ? "stream_bf16_pairs" : t == ASSAY_F16 ? "stream_f16s" : t == ASSAY_BF16 ? "stream_bf16s" : NULL;
}

/* Functions of f32 that are cheaper where the operand is known to be at most 0. */
static const char *const forms_below_0[FN_COUNT] = {[FN_EXP] = "exp_below_f32($a)"};

/* Functions of which one operand is a number that is no NaN: processors have an instruction that answers the other operand
   where that is one. */
static const char *const forms_with_number[FN_COUNT] = {
    [FN_MINIMUM] = "($a > $b ? $b : $a)",
    [FN_MAXIMUM] = "($a < $b ? $b : $a)",
};

static void fill_in(text *out, const char *form, dtype t, const char *const *operands) {
    bool single = t == ASSAY_F32 || t == ASSAY_C64;
    for (; *form != '\0'; form++) {
        if (*form != '$') {
            text_add_char(out, *form);
            continue;
        }
        form++;
        if (*form == 't') {
            text_add(out, assay_dtype_name(t));
        } else if (*form == 'f') {
            text_add(out, single ? "f" : "");
        } else {
            text_add(out, operands[*form - 'a']);
        }
    }
}

bool dialect_bound_of_factor(text *out, scalar_function f, const char *const *operands) {
    text_addf(out, "%s(%s, %s)", f == FN_MINIMUM ? "smaller_by_bits_f32" : "larger_by_bits_f32", operands[0], operands[1]);
    return true;
}

bool dialect_below_0(text *out, scalar_function f, dtype t, const char *const *operands) {
    bool known = t == ASSAY_F32 && forms_below_0[f] != NULL;
    fill_in(out, known ? forms_below_0[f] : "", t, operands);
    return known;
}

bool dialect_with_number(text *out, scalar_function f, dtype t, const char *const *operands) {
    bool known = dtype_is_floating(t) && forms_with_number[f] != NULL;
    fill_in(out, known ? forms_with_number[f] : "", t, operands);
    return known;
}

void dialect_quick(text *out, scalar_function f, dtype t, const char *const *operands) {
    fill_in(out, quick_form_of(f, t).form, t, operands);
}

void dialect_quick_fails(text *out, scalar_function f, dtype t, const char *const *operands) {
    fill_in(out, quick_form_of(f, t).fails, t, operands);
}

bool dialect_function(text *out, scalar_function f, dtype t, const char *const *operands) {
    const spelling *s = &spellings[f];
    const char *form = dtype_is_floating(t)    ? s->floating
                       : dtype_is_complex(t)   ? s->of_complex
                       : t == ASSAY_B8         ? s->boolean
                                               : s->integral;
    form = t == ASSAY_F64 && f == FN_POW ? "__builtin_pow($a, $b)" : form; /* f32 has its own */
    if ((t == ASSAY_F16 || t == ASSAY_BF16) && (f == FN_ABS || f == FN_NEG)) { /* in bits: nothing else is done to stored halves */
        form = f == FN_ABS ? "(uint16_t)($a & 0x7fff)" : "(uint16_t)($a ^ 0x8000)";
    }
    if (form == NULL) {
        return false;
    }
    fill_in(out, form, t, operands);
    return true;
}

/* Types that are but stored, never computed in: they are read and written through another. */
static bool is_storage(dtype t) {
    return primitive_compute_type(t) != t && !dtype_is_integral(t);
}

void dialect_cast(text *out, dtype from, dtype to, const char *x) {
    dtype through = primitive_compute_type(is_storage(from) ? from : to);
    bool straight = is_storage(from) ? to == through : from == through;
    if (is_storage(from) || is_storage(to)) {
        if (straight) {
            text_addf(out, "%s_of_%s(%s)", assay_dtype_name(to), assay_dtype_name(from), x);
            return;
        }
        text between = {0};
        dialect_cast(&between, from, through, x);
        dialect_cast(out, through, to, text_get(&between));
        out->failed |= between.failed;
        text_clear(&between);
        return;
    }
    if (to == ASSAY_B8) {
        text_addf(out, "(%s != 0)", x);
    } else if (dtype_is_floating(from) && dtype_is_integral(to) && to != ASSAY_I64 && to != ASSAY_I32) {
        text_addf(out, "(%s)(int32_t)(%s)", dialect_type(to), x); /* out of range it wraps as other kernels' do */
    } else {
        text_addf(out, "(%s)(%s)", dialect_type(to), x);
    }
}

static void add_real(text *out, double value, bool single) {
    if (isnan(value)) {
        text_add(out, single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")");
        return;
    }
    if (isinf(value)) {
        text_addf(out, value < 0 ? "(-__builtin_inf%s())" : "__builtin_inf%s()", single ? "f" : "");
        return;
    }
    bool negative = signbit(value) != 0; /* in brackets: a minus may stand before it */
    text_add(out, negative ? "(" : "");
    size_t before = out->length;
    text_add_double(out, value);
    if (!out->failed && strpbrk(out->data + before, ".e") == NULL) {
        text_add(out, ".0");
    }
    text_add(out, single ? "f" : "");
    text_add(out, negative ? ")" : "");
}

void dialect_number(text *out, dtype t, number n) {
    if (t == ASSAY_C32) {
        text_addf(out, "0x%xu", f16_from_double(n.f) | (uint32_t)f16_from_double(n.im) << 16);
    } else if (dtype_is_complex(t)) {
        text_add(out, "__builtin_complex(");
        add_real(out, n.f, t == ASSAY_C64);
        text_add(out, ", ");
        add_real(out, n.im, t == ASSAY_C64);
        text_add(out, ")");
    } else if (t == ASSAY_F32 || t == ASSAY_F64) {
        add_real(out, n.f, t == ASSAY_F32);
    } else if (dtype_is_floating(t)) {
        text_addf(out, "0x%x", t == ASSAY_F16 ? f16_from_double(n.f) : bf16_from_double(n.f));
    } else {
        int64_t value = n.category >= CATEGORY_FLOATING ? (int64_t)n.f : n.i;
        if (value == INT64_MIN) {
            text_add(out, "(-0x7fffffffffffffff - 1)");
        } else {
            text_addf(out, value < 0 ? "(%lld)" : "%lld", (long long)value);
        }
    }
}

/* --- the prelude -------------------------------------------------------------------------------------------------------- */

typedef struct paragraph {
    const char *at;
    size_t length;
    const char *code; /* behind the comment before it */
    char name[48];
    bool wanted;
} paragraph;

enum { MOST_PARAGRAPHS = 512 };

/* The word after the type on a paragraph's line of code. */
static bool name_of(const char *at, const char *end, char *name, size_t size) {
    const char *code = at;
    while (code < end && strncmp(code, "VECTOR_INLINE ", 14) != 0 && strncmp(code, "static ", 7) != 0 &&
           strncmp(code, "#define ", 8) != 0) {
        const char *line = memchr(code, '\n', (size_t)(end - code));
        code = line != NULL ? line + 1 : end;
    }
    if (code >= end) {
        return false;
    }
    const char *stop = *code == '#' ? code + 8 : memchr(code, '(', (size_t)(end - code));
    const char *start = stop;
    if (stop == NULL) {
        return false;
    }
    if (*code == '#') {
        while (isalnum((unsigned char)*stop) || *stop == '_') {
            stop++;
        }
    } else {
        while (isalnum((unsigned char)start[-1]) || start[-1] == '_') {
            start--;
        }
    }
    size_t length = (size_t)(stop - start);
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(name, start, length);
    name[length] = '\0';
    return true;
}

/* What a comment before it says calls nothing. */
static const char *code_of(const char *source, size_t length) {
    const char *end = memcmp(source, "/*", 2) == 0 ? memmem(source, length, "*/", 2) : NULL;
    return end != NULL ? end + 2 : source;
}

static int paragraphs_of(const char *source, paragraph *list, int n) {
    while (*source != '\0' && n < MOST_PARAGRAPHS) {
        const char *end = strstr(source, "\n\n");
        size_t length = end != NULL ? (size_t)(end - source) : strlen(source);
        paragraph p = {.at = source, .length = length, .code = code_of(source, length)};
        if (name_of(source, source + length, p.name, sizeof p.name) && strcmp(p.name, "VECTOR_INLINE") != 0) {
            list[n++] = p;
        }
        source += length;
        while (*source == '\n') {
            source++;
        }
    }
    return n;
}

static bool mentions(const char *body, size_t n, const char *name) {
    size_t length = strlen(name);
    for (const char *at = body; (at = memmem(at, n - (size_t)(at - body), name, length)) != NULL; at++) {
        bool starts = at == body || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool ends = !(isalnum((unsigned char)at[length]) || at[length] == '_');
        if (starts && ends) {
            return true;
        }
    }
    return false;
}

static const char prelude_types[] =
    "typedef __INT8_TYPE__ int8_t;\ntypedef __INT16_TYPE__ int16_t;\ntypedef __INT32_TYPE__ int32_t;\n"
    "typedef __INT64_TYPE__ int64_t;\ntypedef __UINT8_TYPE__ uint8_t;\ntypedef __UINT16_TYPE__ uint16_t;\n"
    "typedef __UINT32_TYPE__ uint32_t;\ntypedef __UINT64_TYPE__ uint64_t;\n"
    "#define VECTOR_INLINE static inline __attribute__((always_inline, unused))\n";

/* The lanes of the loop that follows do not depend on each other; gcc and clang have a word each for it. They are few: gcc has
   to be told that it must not write them out one by one. So it does where they are short of a block, but whole vectors. */
static const char prelude_lanes[] = "#ifdef __clang__\n#define INDEPENDENT _Pragma(\"clang loop vectorize(assume_safety)\")\n"
                                    "#define FEW\n#else\n#define INDEPENDENT _Pragma(\"GCC ivdep\")\n"
                                    "#define FEW _Pragma(\"GCC unroll 1\")\n#endif\n#define SHORT FEW\n";

static const char prelude_words[] = "#define memcpy __builtin_memcpy\n#define fabsf __builtin_fabsf\n"
                                    "#define fabs __builtin_fabs\n#define copysignf __builtin_copysignf\n#define fmaf __builtin_fmaf\n"
                                    "#define INFINITY __builtin_inff()\n#define NAN __builtin_nanf(\"\")\n";

/* Choices among lanes are to stay so: threaded, a comparison with what was chosen becomes a choice of comparisons, which is no vector code
   (max pooling of [8, 64, 56, 56] in bf16 took 5 ms so, and takes 0.8; a core of a Zen 5, 2026-11), and a number held between two becomes
   a chain of masks. Over a few lanes whole branches may be left out instead. */
static const char prelude_choices[] = "#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC optimize(\"no-thread-jumps\")\n#endif\n";
static const char prelude_between[] = "#define BETWEEN(choice) (choice)\n";

static bool says(const char *body, const char *word) {
    return mentions(body, strlen(body), word);
}

static bool has_choices(const char *body) {
    return says(body, "BETWEEN") || (says(body, "INDEPENDENT") && !says(body, "FEW") && strstr(body, " ? ") != NULL);
}

/* What a loop puts together for accumulators in registers is not to become a call of memcpy, which would ask for memory. */
static const char prelude_held[] = "#if defined(__GNUC__) && !defined(__clang__)\n"
                                   "#pragma GCC optimize(\"no-tree-loop-distribute-patterns\")\n#endif\n";

void dialect_prelude(text *out, const char *body) {
    paragraph list[MOST_PARAGRAPHS];
    int n = paragraphs_of(compile_vector_math, list, 0);
    n = paragraphs_of(compile_vector_doubles, list, n);
    n = paragraphs_of(compile_prelude, list, n);
    n = paragraphs_of(compile_prelude_quotients, list, n);
    n = paragraphs_of(compile_vector_blocks, list, n);
    n = paragraphs_of(compile_vector_erf, list, n);
    n = paragraphs_of(compile_vector_expm1, list, n);
    n = paragraphs_of(compile_vector_root, list, n);
    n = paragraphs_of(compile_vector_pow, list, n);
    n = paragraphs_of(compile_vector_halves, list, n);
    n = paragraphs_of(compile_vector_angles, list, n);
    n = paragraphs_of(compile_vector_normal, list, n);
    n = paragraphs_of(compile_vector_half_normal, list, n);
    n = paragraphs_of(compile_vector_half_functions, list, n);
    n = paragraphs_of(compile_prelude_halves, list, n);
    n = paragraphs_of(compile_prelude_scans, list, n);
    n = paragraphs_of(compile_prelude_turn, list, n);
    n = paragraphs_of(compile_prelude_flow, list, n);
    n = paragraphs_of(compile_prelude_lanes, list, n);
    n = paragraphs_of(compile_prelude_places, list, n);
    n = paragraphs_of(compile_vector_ranks, list, n);
    n = paragraphs_of(compile_prelude_product, list, n);
    n = paragraphs_of(compile_prelude_winograd, list, n);
    out->failed |= n == MOST_PARAGRAPHS; /* some may be missing */
    bool any = false;
    for (int i = n - 1; i >= 0; i--) { /* what is called stands before its caller */
        list[i].wanted = says(body, list[i].name);
        for (int j = i + 1; j < n && !list[i].wanted; j++) {
            list[i].wanted = list[j].wanted && mentions(list[j].code, list[j].length - (size_t)(list[j].code - list[j].at), list[i].name);
        }
        any |= list[i].wanted;
    }
    text_add(out, has_choices(body) ? prelude_choices : "");
    text_add(out, says(body, "BETWEEN") ? prelude_between : "");
    text_add(out, says(body, "held_f32") ? prelude_held : "");
    text_add(out, prelude_types);
    text_add(out, says(body, "INDEPENDENT") ? prelude_lanes : "");
    text_add(out, any ? prelude_words : "");
    for (int i = 0; i < n; i++) {
        if (list[i].wanted) {
            text_add(out, "\n");
            text_add_bytes(out, list[i].at, list[i].length);
            text_add(out, "\n");
        }
    }
}
