/* SPDX-License-Identifier: Apache-2.0 */
/* The thread's observer. */
#include "engine/kernels/observer.h"

_Thread_local const observer *observer_of_thread = NULL;
