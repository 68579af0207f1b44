/* SPDX-License-Identifier: Apache-2.0 */
/* Large pages of memory, where the kernel gives them to who asks. */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

/* PAGE_BYTES: what memory is given out in. LARGE_PAGE_BYTES: a large page of x86-64 and of aarch64 with pages of 4 KiB. */
enum { PAGE_BYTES = 4096, LARGE_PAGE_BYTES = 2 << 20 };

/* Asks for large pages in memory that was just allocated, and not touched yet. Whole pages only: the block's neighbours are not the
   caller's to speak of. Strides through large tensors otherwise spend much of their time on looking pages up, on virtual machines above
   all. Refused, nothing is lost. */
void ask_for_large_pages(char *memory, size_t size_bytes);

#endif
