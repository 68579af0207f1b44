/* SPDX-License-Identifier: Apache-2.0 */
/* What the rest of the house may ask of a public session. */
#ifndef ENGINE_API_SESSION_H
#define ENGINE_API_SESSION_H

#include "assay/assay.h"
#include "engine/kernels/observer.h"

/* Every call of the session is told to `watch` (borrowed; NULL: to nobody) from now on; returns who was told before. */
const observer *session_observe(assay_session *session, const observer *watch);

#endif
