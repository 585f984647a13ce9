// SPDX-License-Identifier: GPL-2.0
/* Cells to aligned columns. The first row is the heading. */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ppstat.h"

struct pp_table {
	unsigned int columns;
	unsigned int text;		/* bit per column */
	char **cells;
	size_t nr, room;
};

static void *need(void *p)
{
	if (!p) {
		pp_error("out of memory");
		exit(PP_FAILED);
	}
	return p;
}

struct pp_table *pp_table_new(unsigned int columns)
{
	struct pp_table *t = need(calloc(1, sizeof(*t)));

	t->columns = columns;
	return t;
}

void pp_table_text(struct pp_table *t, unsigned int i)
{
	t->text |= 1U << i;
}

char *pp_plain(char *s)
{
	char *c;

	for (c = s; c && *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return s;
}

void pp_cell(struct pp_table *t, const char *fmt, ...)
{
	va_list ap;
	int len;

	if (t->nr == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->cells = need(reallocarray(t->cells, t->room,
					     sizeof(*t->cells)));
	}
	va_start(ap, fmt);
	len = vasprintf(&t->cells[t->nr], fmt, ap);
	va_end(ap);
	if (len < 0)
		need(NULL);
	pp_plain(t->cells[t->nr++]);
}

void pp_table_print(struct pp_table *t, FILE *f, const char *indent)
{
	unsigned int width[32] = {};
	unsigned int c;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		c = i % t->columns;
		if (strlen(t->cells[i]) > width[c])
			width[c] = strlen(t->cells[i]);
	}
	for (i = 0; i < t->nr; i++) {
		c = i % t->columns;
		fputs(c ? "  " : indent, f);
		if (t->text & (1U << c))
			/* nothing is padded at the end of a line */
			fprintf(f, "%-*s", c + 1 < t->columns ? (int)width[c] : 0,
				t->cells[i]);
		else
			fprintf(f, "%*s", (int)width[c], t->cells[i]);
		if (c + 1 == t->columns)
			fputc('\n', f);
	}
}

void pp_table_free(struct pp_table *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}
