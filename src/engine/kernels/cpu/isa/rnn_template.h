/* SPDX-License-Identifier: Apache-2.0 */
/* The cells' loops for one real type. The includer defines REAL, SIGMOID, TANH and NAMED(name); included once per type. */

static void NAMED(forward_relu)(const rnn_row *r) {
    const REAL *x = r->from_x, *h = r->from_h, *b = r->b_hh;
    REAL *raw = r->raw;
    for (int64_t j = 0; j < r->n; j++) {
        REAL a = x[j] + h[j] + (b != NULL ? b[j] : 0);
        raw[j] = a > 0 ? a : 0;
    }
}

static void NAMED(forward_tanh)(const rnn_row *r) {
    const REAL *x = r->from_x, *h = r->from_h, *b = r->b_hh;
    REAL *raw = r->raw;
    for (int64_t j = 0; j < r->n; j++) {
        raw[j] = TANH(x[j] + h[j] + (b != NULL ? b[j] : 0));
    }
}

static void NAMED(forward_lstm)(const rnn_row *r) {
    const REAL *x = r->from_x, *h = r->from_h, *b = r->b_hh, *c_before = r->c_before;
    REAL *restrict raw = r->raw, *c = r->c, *gates = r->gates;
    int64_t n = r->n, s = r->step, t = r->from_h_step;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        REAL i = SIGMOID(x[j] + h[j] + (b != NULL ? b[j] : 0));
        REAL f = SIGMOID(x[s + j] + h[t + j] + (b != NULL ? b[s + j] : 0));
        REAL g = TANH(x[2 * s + j] + h[2 * t + j] + (b != NULL ? b[2 * s + j] : 0));
        REAL o = SIGMOID(x[3 * s + j] + h[3 * t + j] + (b != NULL ? b[3 * s + j] : 0));
        REAL next = f * c_before[j] + i * g;
        if (gates != NULL) {
            gates[j] = i;
            gates[s + j] = f;
            gates[2 * s + j] = g;
            gates[3 * s + j] = o;
        }
        c[j] = next;
        raw[j] = o * TANH(next);
    }
}

static void NAMED(forward_gru)(const rnn_row *r) {
    const REAL *x = r->from_x, *h = r->from_h, *b = r->b_hh, *before = r->h_before;
    REAL *raw = r->raw, *gates = r->gates;
    int64_t n = r->n, s = r->step, t = r->from_h_step;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        REAL reset = SIGMOID(x[j] + h[j] + (b != NULL ? b[j] : 0));
        REAL z = SIGMOID(x[s + j] + h[t + j] + (b != NULL ? b[s + j] : 0));
        REAL hn = h[2 * t + j] + (b != NULL ? b[2 * s + j] : 0);
        REAL m = TANH(x[2 * s + j] + reset * hn);
        if (gates != NULL) {
            gates[j] = reset;
            gates[s + j] = z;
            gates[2 * s + j] = m;
            gates[3 * s + j] = hn;
        }
        raw[j] = (1 - z) * m + z * before[j];
    }
}

static void NAMED(back_relu)(const rnn_row_back *r) {
    const REAL *raw = r->raw, *d_raw = r->d_raw;
    REAL *d_x = r->d_x;
    for (int64_t j = 0; j < r->n; j++) {
        d_x[j] = raw[j] > 0 ? d_raw[j] : 0;
    }
}

static void NAMED(back_tanh)(const rnn_row_back *r) {
    const REAL *raw = r->raw, *d_raw = r->d_raw;
    REAL *d_x = r->d_x;
    for (int64_t j = 0; j < r->n; j++) {
        d_x[j] = d_raw[j] * (1 - raw[j] * raw[j]);
    }
}

static void NAMED(back_lstm)(const rnn_row_back *r) {
    const REAL *gates = r->gates, *c_before = r->c_before, *d_raw = r->d_raw;
    REAL *dc = r->dc, *d_x = r->d_x;
    int64_t n = r->n, s = r->step;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        REAL i = gates[j], f = gates[s + j], g = gates[2 * s + j], o = gates[3 * s + j];
        REAL tanh_c = TANH(f * c_before[j] + i * g);
        REAL d = dc[j] + d_raw[j] * o * (1 - tanh_c * tanh_c);
        d_x[j] = d * g * i * (1 - i);
        d_x[s + j] = d * c_before[j] * f * (1 - f);
        d_x[2 * s + j] = d * i * (1 - g * g);
        d_x[3 * s + j] = d_raw[j] * tanh_c * o * (1 - o);
        dc[j] = d * f;
    }
}

static void NAMED(back_gru)(const rnn_row_back *r) {
    const REAL *gates = r->gates, *before = r->h_before, *d_raw = r->d_raw;
    REAL *d_x = r->d_x, *d_h = r->d_h, *past = r->past;
    int64_t n = r->n, s = r->step;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        REAL reset = gates[j], z = gates[s + j], m = gates[2 * s + j], hn = gates[3 * s + j], d = d_raw[j];
        REAL dm = d * (1 - z) * (1 - m * m);
        REAL dr = dm * hn * reset * (1 - reset), dz = d * (before[j] - m) * z * (1 - z);
        d_x[j] = d_h[j] = dr;
        d_x[s + j] = d_h[s + j] = dz;
        d_x[2 * s + j] = dm;
        d_h[2 * s + j] = dm * reset;
        past[j] = d * z;
    }
}
