/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, numbers, widths and the progress line, against the very bytes. */
#include "lab/report/progress.h"
#include "lab/report/table.h"
#include "lab/report/terminal.h"

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const table_column columns[] = {
    {"operator", .align = TABLE_LEFT, .shrinks = true}, {"eager\n[us]", .align = TABLE_RIGHT}, {"note", .align = TABLE_LEFT}};

static table make_table(arena *a) {
    table t;
    table_init(&t, a, columns, countof(columns));
    table_row_begin(&t);
    table_cell(&t, "aten.add.Tensor", TABLE_PLAIN);
    table_cell(&t, "12.5", TABLE_GOOD);
    table_row_begin(&t);
    table_cell(&t, "aten.m\xc3\xbcl", TABLE_PLAIN);
    table_cell(&t, NULL, TABLE_PLAIN);
    table_cell(&t, "\xe6\xbc\xa2\xe5\xad\x97", TABLE_BAD);
    table_rule(&t);
    table_row_begin(&t);
    table_cellf(&t, TABLE_PLAIN, "%d in all", 2);
    return t;
}

static void columns_line_up(void **state) {
    (void)state;
    arena a = {0};
    text out = {0};
    table t = make_table(&a);
    assert_int_equal(table_render(&t, &(table_options){.indent = 1}, &out, NULL), ASSAY_OK);
    assert_string_equal(out.data, "                  eager\n"
                                  " operator          [us]  note\n"
                                  " \xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\n"
                                  " aten.add.Tensor   12.5\n"
                                  " aten.m\xc3\xbcl             -  \xe6\xbc\xa2\xe5\xad\x97\n"
                                  " \xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\n"
                                  " 2 in all\n");
    text_clear(&out);
    arena_clear(&a);
}

static void a_narrow_table_shrinks_names_but_no_numbers(void **state) {
    (void)state;
    arena a = {0};
    text out = {0};
    table t = make_table(&a);
    assert_int_equal(table_render(&t, &(table_options){.max_width = 23}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "\naten.add.\xe2\x80\xa6   12.5\n"));
    text_reset(&out);
    assert_int_equal(table_render(&t, &(table_options){.max_width = 3}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "\naten.ad\xe2\x80\xa6   12.5\n"));
    text_clear(&out);
    arena_clear(&a);
}

/* Names can be told apart as long as there is something to spare. */
static void spare_columns_make_room(void **state) {
    (void)state;
    static const table_column spared[] = {{"name", .align = TABLE_LEFT, .shrinks = true},
                                          {"fast\n20th", .align = TABLE_RIGHT, .spare = 2},
                                          {"\n50th", .align = TABLE_RIGHT},
                                          {"\n80th", .align = TABLE_RIGHT, .spare = 2},
                                          {"share", .align = TABLE_RIGHT, .spare = 1}};
    arena a = {0};
    text out = {0};
    table t;
    table_init(&t, &a, spared, countof(spared));
    table_row_begin(&t);
    table_cell(&t, "aten.a_name_of_thirty_characte", TABLE_PLAIN);
    for (int i = 0; i < 4; i++) {
        table_cellf(&t, TABLE_PLAIN, "1.%d", i);
    }
    table_row_begin(&t);
    table_cell(&t, "all", TABLE_PLAIN);
    for (int i = 0; i < 4; i++) {
        table_cell(&t, i == 3 ? "100" : "", TABLE_PLAIN);
    }
    table_cuts cuts;
    assert_int_equal(table_render(&t, &(table_options){.max_width = 55, .cuts = &cuts}, &out, NULL), ASSAY_OK);
    assert_false(cuts.is_short || cuts.left_out[1] || cuts.left_out[4]);
    assert_non_null(strstr(out.data, "20th  50th  80th"));
    text_reset(&out);
    assert_int_equal(table_render(&t, &(table_options){.max_width = 44, .cuts = &cuts}, &out, NULL), ASSAY_OK);
    assert_true(cuts.is_short && cuts.left_out[1] && cuts.left_out[3] && !cuts.left_out[4]);
    assert_non_null(strstr(out.data, "                                fast\nname                            50th  share\n"));
    assert_non_null(strstr(out.data, "\naten.a_name_of_thirty_characte   1.1    1.3\nall                                     100\n"));
    text_reset(&out);
    assert_int_equal(table_render(&t, &(table_options){.max_width = 30, .cuts = &cuts}, &out, NULL), ASSAY_OK);
    assert_true(cuts.left_out[4] && !cuts.left_out[2]);
    assert_non_null(strstr(out.data, "\naten.a_name_of_thirty_c\xe2\x80\xa6   1.1\n")); /* of "all" nothing is left */
    assert_null(strstr(out.data, "\nall"));
    text_clear(&out);
    arena_clear(&a);
}

/* Shorter forms come before a column is left out, and what stands above one may take several lines. */
static void names_have_shorter_forms(void **state) {
    (void)state;
    static const table_column named[] = {{"name", .align = TABLE_LEFT, .shrinks = true},
                                         {"compiled:autotune\n[us]", .align = TABLE_RIGHT},
                                         {"a_name_of_20_letters", .align = TABLE_RIGHT, .spare = -1}};
    arena a = {0};
    text out = {0};
    table t;
    table_cuts cuts;
    table_init(&t, &a, named, countof(named));
    table_row_begin(&t);
    table_cell_short(&t, "aten.a_name_of_thirty_characters.default", "a_name_of_thirty_characters", TABLE_PLAIN);
    table_cell(&t, "1.25", TABLE_PLAIN);
    table_cell(&t, "1.5", TABLE_PLAIN);
    assert_int_equal(table_render(&t, &(table_options){.max_width = 54, .cuts = &cuts}, &out, NULL), ASSAY_OK);
    assert_true(cuts.is_short && !cuts.left_out[2]);
    assert_string_equal(out.data, "                             compiled:\n"
                                  "                              autotune\n"
                                  "name                              [us]  a_name_of_2\xe2\x80\xa6\n"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
                                  "\xe2\x94\x80\xe2\x94\x80\n"
                                  "a_name_of_thirty_characters       1.25           1.5\n");
    text_reset(&out);
    assert_int_equal(table_render(&t, &(table_options){.max_width = 30, .cuts = &cuts}, &out, NULL), ASSAY_OK);
    assert_true(cuts.left_out[2]);
    assert_non_null(strstr(out.data, "\na_name_of_thirty_c\xe2\x80\xa6       1.25\n"));
    text_clear(&out);
    arena_clear(&a);
}

static void prose_goes_on_below(void **state) {
    (void)state;
    static const table_column prose[] = {{"what", .align = TABLE_LEFT}, {"why", .align = TABLE_LEFT, .wraps = true}};
    arena a = {0};
    text out = {0};
    table t;
    table_init(&t, &a, prose, countof(prose));
    table_row_begin(&t);
    table_cell(&t, "one", TABLE_PLAIN);
    table_cell(&t, "it is said in more words than one line has", TABLE_PLAIN);
    table_row_begin(&t);
    table_cell(&t, "two", TABLE_PLAIN);
    table_cell(&t, "abcdefghijklmnopqrstuvwxyz0123456789", TABLE_PLAIN);
    table_row_begin(&t);
    table_cell(&t, "three", TABLE_PLAIN);
    table_cell(&t, "", TABLE_PLAIN);
    assert_int_equal(table_render(&t, &(table_options){.max_width = 31}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "\none    it is said in more words\n       than one line has\ntwo    abcdefghijklmnopqrstuvwx\n"
                                     "       yz0123456789\nthree\n"));
    text_reset(&out);
    assert_int_equal(table_render(&t, &(table_options){0}, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(out.data, "one    it is said in more words than one line has\n"));
    text_clear(&out);
    arena_clear(&a);
}

static void colours_do_not_move_columns(void **state) {
    (void)state;
    arena a = {0};
    text plain = {0}, colored = {0}, stripped = {0};
    table t = make_table(&a);
    assert_int_equal(table_render(&t, &(table_options){0}, &plain, NULL), ASSAY_OK);
    assert_int_equal(table_render(&t, &(table_options){.color = true}, &colored, NULL), ASSAY_OK);
    assert_non_null(strstr(colored.data, "\033[32m12.5\033[0m"));
    for (const char *p = colored.data; *p != '\0'; p++) {
        if (*p == '\033') {
            p = strchr(p, 'm');
        } else {
            text_add_char(&stripped, *p);
        }
    }
    assert_string_equal(stripped.data, plain.data);
    text_clear(&plain);
    text_clear(&colored);
    text_clear(&stripped);
    arena_clear(&a);
}

static void numbers_have_the_digits_asked_for(void **state) {
    (void)state;
    static const struct {
        double value;
        int digits;
        const char *expected;
    } cases[] = {{1234.5678, 3, "1230"}, {9.996, 3, "10.0"}, {0.00123456, 3, "0.00123"}, {99.96, 3, "100"},
                 {0, 4, "0"},            {-2.5, 1, "-2"},    {1, 4, "1.000"},            {999999, 2, "1000000"},
                 {1e20, 3, "1.00e+20"},  {INFINITY, 3, "-"}, {NAN, 3, "-"},              {123456, 6, "123456"}};
    char buffer[48];
    for (size_t i = 0; i < countof(cases); i++) {
        assert_string_equal(table_number(buffer, cases[i].value, cases[i].digits), cases[i].expected);
    }
}

static void widths_are_of_what_is_seen(void **state) {
    (void)state;
    static const struct {
        const char *s;
        size_t columns;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"\xc3\xa9", 1},
                 {"e\xcc\x81", 1},
                 {"\xe6\xbc\xa2", 2},
                 {"\xf0\x9f\x98\x80", 2},
                 {"\033[31mred\033[0m", 3},
                 {"\xff\xfe", 2},
                 {"\xe6\xbc", 2}};
    for (size_t i = 0; i < countof(cases); i++) {
        assert_int_equal(text_columns(cases[i].s, strlen(cases[i].s)), cases[i].columns);
    }
    assert_int_equal(text_prefix_of_columns("a\xe6\xbc\xa2z", 5, 2), 1); /* half a character is none */
    assert_int_equal(text_prefix_of_columns("a\xe6\xbc\xa2z", 5, 3), 4);
}

static void colour_follows_its_rules(void **state) {
    (void)state;
    color_mode mode;
    assert_true(color_mode_parse("always", &mode) && mode == COLOR_ALWAYS);
    assert_false(color_mode_parse("yes", &mode));
    assert_true(terminal_color(COLOR_ALWAYS, -1));
    assert_false(terminal_color(COLOR_NEVER, 0));
    assert_false(terminal_color(COLOR_AUTO, -1));
    assert_false(terminal_is_live(-1));
    unsetenv("COLUMNS");
    assert_int_equal(terminal_width(-1), 0);
    setenv("COLUMNS", "133", 1);
    assert_int_equal(terminal_width(-1), 133);
    setenv("COLUMNS", "12x", 1);
    assert_int_equal(terminal_width(-1), 0);
}

static void progress_is_drawn_seldom_and_cleaned(void **state) {
    (void)state;
    const int64_t second = 1000000000;
    progress p = progress_make(200, true, false, 5 * second);
    text out = {0};
    progress_state now = {.done = 50, .label = "aten.add.Tensor", .sample = 3, .n_samples = 15, .n_failed = 1, .width = 80};
    progress_draw(&p, &now, 15 * second, &out);
    assert_string_equal(out.data, "\r\033[K\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
                                  "                    25%  aten.add.Tensor  3/15  1 failed  ETA 0:30");
    assert_true(text_columns(out.data + 4, out.length - 4) < 80);
    text_reset(&out);
    progress_draw(&p, &now, 15 * second + second / 20, &out); /* too soon */
    assert_int_equal(out.length, 0);
    progress_draw(&p, &now, 15 * second + second / 9, &out); /* the same line */
    assert_int_equal(out.length, 0);
    progress_draw(&p, &now, 16 * second, &out);
    assert_int_not_equal(out.length, 0);
    text_reset(&out);
    progress_hide(&p, &out);
    assert_string_equal(out.data, "\r\033[K");
    text_reset(&out);
    progress_hide(&p, &out); /* there is none */
    assert_int_equal(out.length, 0);
    for (int width = 1; width < 120; width++) {
        text_reset(&out);
        now.width = width;
        p.shown = false;
        progress_draw(&p, &now, 20 * second, &out);
        assert_true(text_columns(out.data + 4, out.length - 4) < (size_t)width);
    }
    p.live = false;
    text_reset(&out);
    progress_draw(&p, &now, 90 * second, &out);
    assert_int_equal(out.length, 0);
    text_clear(&out);
}

static void a_long_stage_is_named(void **state) {
    (void)state;
    const int64_t second = 1000000000;
    progress p = progress_make(2, true, false, 0);
    text out = {0};
    progress_state now = {.label = "aten.mm.default", .sample = 1, .n_samples = 2, .stage = "preparing", .backend = "inductor", .stage_s = 2.5, .width = 120};
    progress_draw(&p, &now, second, &out);
    assert_null(strstr(out.data, "preparing"));
    text_reset(&out);
    now.stage_s = 14.2;
    progress_draw(&p, &now, 2 * second, &out);
    assert_non_null(strstr(out.data, "aten.mm.default  1/2  preparing on inductor, 0:14"));
    text_reset(&out);
    now = (progress_state){.label = "aten.mm.default", .stage = "running the reference", .stage_s = 75, .width = 120};
    progress_draw(&p, &now, 3 * second, &out);
    assert_non_null(strstr(out.data, "aten.mm.default  running the reference, 1:15"));
    text_clear(&out);
}

static void time_left_is_proportional(void **state) {
    (void)state;
    progress p = progress_make(100, true, false, 0);
    assert_true(progress_eta_s(&p, 10) < 0);
    p.done = 20;
    assert_true(fabs(progress_eta_s(&p, (int64_t)4e9) - 16) < 1e-9);
    p.total = 0;
    assert_true(progress_eta_s(&p, (int64_t)4e9) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_line_up),
        cmocka_unit_test(a_narrow_table_shrinks_names_but_no_numbers),
        cmocka_unit_test(spare_columns_make_room),
        cmocka_unit_test(names_have_shorter_forms),
        cmocka_unit_test(prose_goes_on_below),
        cmocka_unit_test(colours_do_not_move_columns),
        cmocka_unit_test(numbers_have_the_digits_asked_for),
        cmocka_unit_test(widths_are_of_what_is_seen),
        cmocka_unit_test(colour_follows_its_rules),
        cmocka_unit_test(progress_is_drawn_seldom_and_cleaned),
        cmocka_unit_test(a_long_stage_is_named),
        cmocka_unit_test(time_left_is_proportional),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
