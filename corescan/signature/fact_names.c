/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words for facts in signature files: apart, for whoever reads files knows no processes. */
#include "signature/facts.h"

#include <string.h>

enum cs_fact cs_fact_named(const char *word)
{
	int fact = 0;

	while (fact < CS_FACT_COUNT && strcmp(word, cs_fact_word((enum cs_fact)fact)))
		fact++;
	return (enum cs_fact)fact;
}

const char *cs_fact_word(enum cs_fact fact)
{
	static const char *const words[] = {
#define F(name, word, text) word,
		CS_FACTS(F)
#undef F
	};

	return words[fact];
}
