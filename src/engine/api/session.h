/* SPDX-License-Identifier: Apache-2.0 */
/* What the rest of the house may ask of a public session. */
#ifndef ENGINE_API_SESSION_H
#define ENGINE_API_SESSION_H

#include "assay/assay.h"
#include "engine/kernels/observer.h"

/* Who is told of every call of the session; NULL: nobody. */
const observer *session_observer(const assay_session *session);
/* From now on `watch` (borrowed; NULL for nobody) is. */
void session_observe(assay_session *session, const observer *watch);

#endif
