/* SPDX-License-Identifier: Apache-2.0 */
/* For a test: a locale that writes 0,5, the machine's own or one made for the occasion. */
#ifndef COMMA_LOCALE_H
#define COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the whole process, from now on. False: the machine has none, and neither localedef nor its sources. */
static bool enter_comma_locale(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8", "pt_BR.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setlocale(LC_ALL, names[i]) != NULL) {
            return true;
        }
    }
    char folder[] = "/tmp/assay-locale-XXXXXX", command[200];
    if (mkdtemp(folder) == NULL) {
        return false;
    }
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 > %s/said 2>&1", folder, folder);
    bool made = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, names[0]) != NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && made; /* what is loaded stays */
}

#endif
