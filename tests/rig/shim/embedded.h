/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIG_EMBEDDED_H
#define RIG_EMBEDDED_H

/* Turns runtimes that libraries have within themselves into jumps to this one. Cheap
 * where nothing was loaded. */
void embedded_replace(void);

#endif
