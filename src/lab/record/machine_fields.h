/* SPDX-License-Identifier: Apache-2.0 */
/* The machine facts as fields, for records and for `assay doctor --json`. */
#ifndef LAB_RECORD_MACHINE_FIELDS_H
#define LAB_RECORD_MACHINE_FIELDS_H

#include "lab/record/fields.h"

extern const field_set machine_field_set;

#endif
