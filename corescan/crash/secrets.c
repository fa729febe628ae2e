/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of a command line and an environment may be shown. Reports get pasted into public
 * issues, so variables are shown from an allow-list, and in those values that look like a
 * secret are masked. Refuses to be clever: what is on no list is not shown, and a false
 * alarm costs nothing but three stars.
 */
#include "crash/internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MAX_SECRET_NAME 64 /* bytes of a name in running text */
#define MIN_BARE_SECRET 8  /* bytes of a value without quotes there */
#define BEARER "Bearer "

/** Shown by whole name, or by prefix where the entry ends in '*'. */
static const char *const shown[] = {
	"RANK",
	"LOCAL_RANK",
	"WORLD_SIZE",
	"LOCAL_WORLD_SIZE",
	"GROUP_RANK",
	"GROUP_WORLD_SIZE",
	"ROLE_RANK",
	"ROLE_WORLD_SIZE",
	"ROLE_NAME",
	"NODE_RANK",
	"MASTER_ADDR",
	"MASTER_PORT",
	"TORCHELASTIC_*",
	"TORCH_*",
	"PYTORCH_*",
	"TORCHINDUCTOR_*",
	"TORCHDYNAMO_*",
	"TRITON_*",
	"NCCL_*",
	"RCCL_*",
	"GLOO_*",
	"UCX_*",
	"FI_*",
	"NVSHMEM_*",
	"CUDA_*",
	"NVIDIA_*",
	"CUBLAS_*",
	"CUDNN_*",
	"CUTLASS_*",
	"HIP_*",
	"HSA_*",
	"ROCR_*",
	"XLA_*",
	"OMP_*",
	"GOMP_*",
	"KMP_*",
	"MKL_*",
	"OPENBLAS_*",
	"BLIS_*",
	"NUMEXPR_*",
	"MALLOC_*",
	"GLIBC_TUNABLES",
	"ATEN_*",
	"PYTHON*",
	"LD_PRELOAD",
	"LD_LIBRARY_PATH",
	"LD_BIND_NOW",
	"LD_DEBUG",
	"CONDA_PREFIX",
	"CONDA_DEFAULT_ENV",
	"VIRTUAL_ENV",
	"HF_HOME",
	"HF_HUB_CACHE",
	"HF_HUB_OFFLINE",
	"HF_DATASETS_CACHE",
	"HF_DATASETS_OFFLINE",
	"TRANSFORMERS_CACHE",
	"TRANSFORMERS_OFFLINE",
	"TOKENIZERS_PARALLELISM",
	"ACCELERATE_*",
	"DEEPSPEED_*",
	"DS_*",
	"MEGATRON_*",
	"VLLM_*",
	"RAY_*",
	"SGLANG_*",
	"SLURM_PROCID",
	"SLURM_LOCALID",
	"SLURM_NODEID",
	"SLURM_NTASKS",
	"SLURM_NPROCS",
	"SLURM_NNODES",
	"SLURM_JOB_ID",
	"SLURM_JOBID",
	"SLURM_JOB_NAME",
	"SLURM_JOB_NUM_NODES",
	"SLURM_JOB_NODELIST",
	"SLURM_NODELIST",
	"SLURM_JOB_PARTITION",
	"SLURM_STEP_ID",
	"SLURM_STEPID",
	"SLURM_TASKS_PER_NODE",
	"SLURM_NTASKS_PER_NODE",
	"SLURM_CPUS_PER_TASK",
	"SLURM_CPUS_ON_NODE",
	"SLURM_MEM_PER_NODE",
	"SLURM_MEM_PER_CPU",
	"SLURM_GPUS",
	"SLURM_GPUS_ON_NODE",
	"SLURM_GPUS_PER_NODE",
	"SLURM_GPUS_PER_TASK",
	"SLURM_RESTART_COUNT",
	"SLURMD_NODENAME",
	"SLURM_ARRAY_*",
	"SLURM_CLUSTER_NAME",
	"OMPI_COMM_WORLD_*",
	"OMPI_UNIVERSE_SIZE",
	"PMI_*",
	"PMIX_RANK",
	"MPI_LOCALRANKID",
	"MPI_LOCALNRANKS",
	"MV2_COMM_WORLD_*",
	"I_MPI_*",
	"PALS_RANKID",
	"HOSTNAME",
	"TZ",
	"LANG",
	"LC_ALL",
	"LC_CTYPE",
	"SHELL",
	"TMPDIR",
};

/** Parts of a name, in capitals, that say its value is secret. */
static const char *const secret_words[] = {
	"SECRET",  "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY",
	"PRIVATE", "AUTH",     "COOKIE", "JWT",        "SIGNATURE",
};

/** Names in which "TOKEN" is a piece of text, not a secret. */
static const char *const harmless[] = {"TOKENIZERS_PARALLELISM",
				       "TOKENIZER",
				       "PAD_TOKEN",
				       "MAX_TOKENS",
				       "TOKENS",
				       "TOKEN_IDS"};

/** Well-known forms of tokens: a prefix, and how many letters, digits, '_' or '-' follow
 * at least. */
struct token_form {
	const char *prefix;
	size_t more;
};

static const struct token_form forms[] = {
	{"sk-", 16},   {"hf_", 16},         {"ghp_", 16},   {"gho_", 16},  {"ghs_", 16},
	{"ghu_", 16},  {"github_pat_", 16}, {"glpat-", 12}, {"AKIA", 16},  {"ASIA", 16},
	{"xoxb-", 8},  {"xoxp-", 8},        {"nvapi-", 16}, {"pypi-", 16}, {"AIza", 30},
	{"ya29.", 16}, {"dckr_pat_", 8},
};

static bool is_token_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/** @word in @name as whole words or as a part of one, whatever the case. */
static bool contains(const char *name, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		if (!strncasecmp(name + i, word, n))
			return true;
	return false;
}

/** True if "TOKEN" in @name is one of a language model's. */
static bool is_text_token(const char *name, size_t len)
{
	for (size_t i = 0; i < CS_COUNT(harmless); i++)
		if (contains(name, len, harmless[i]))
			return true;
	return false;
}

bool cs_name_is_secret(const char *name, size_t len)
{
	for (size_t i = 0; i < CS_COUNT(secret_words); i++)
		if (contains(name, len, secret_words[i]))
			return true;
	if (contains(name, len, "TOKEN") && !is_text_token(name, len))
		return true;
	/* "KEY" alone is a part of many harmless words: only as the last one. */
	return len >= 3 && !strncasecmp(name + len - 3, "KEY", 3) &&
	       (len == 3 || name[len - 4] == '_' || name[len - 4] == '-');
}

bool cs_variable_is_shown(const char *name, size_t len)
{
	for (size_t i = 0; i < CS_COUNT(shown); i++) {
		size_t n = strlen(shown[i]);

		if (shown[i][n - 1] == '*'
			    ? len >= n - 1 && !strncmp(name, shown[i], n - 1)
			    : len == n && !strncmp(name, shown[i], n))
			return true;
	}
	return false;
}

/** Bytes of a token at @p, or 0. */
static size_t token_at(const char *p)
{
	size_t n;

	for (size_t i = 0; i < CS_COUNT(forms); i++) {
		size_t prefix = strlen(forms[i].prefix);

		if (strncmp(p, forms[i].prefix, prefix))
			continue;
		for (n = 0; is_token_char(p[prefix + n]);)
			n++;
		if (n >= forms[i].more)
			return prefix + n;
	}
	/* A JSON web token: three dotted parts, the first two base64 of "{\"". */
	if (strncmp(p, "eyJ", 3))
		return 0;
	n = 0;
	for (int dots = 0; is_token_char(p[n]) || (p[n] == '.' && dots < 2); n++)
		dots += p[n] == '.';
	return n >= 20 && memchr(p, '.', n) ? n : 0;
}

/** At the "://" of a URL with a password: where it begins and ends. */
static bool url_password(const char *p, const char **begin, const char **end)
{
	const char *host = p + 3, *stop = host + strcspn(host, "/?# \t\"'");
	const char *at = memrchr(host, '@', (size_t)(stop - host));
	const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;

	if (!colon)
		return false;
	*begin = colon + 1;
	*end = at;
	return true;
}

/** Names of secrets in running text, where "author=" and "key: " are no such. */
static bool names_secret(const char *name, size_t len)
{
	static const char *const words[] = {"PASSWORD",   "PASSWD",     "PASSPHRASE", "SECRET",
					    "CREDENTIAL", "APIKEY",     "API_KEY",    "API-KEY",
					    "ACCESS_KEY", "ACCESS-KEY", "AUTH_KEY",   "PRIVATE_KEY",
					    "SIGNATURE",  "AUTHORIZATION"};

	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (contains(name, len, words[i]))
			return true;
	return contains(name, len, "TOKEN") && !is_text_token(name, len);
}

static bool is_value_char(char c)
{
	return is_token_char(c) || (c && strchr("+/.~%!*^@#", c));
}

/** The name before the '=' or ':' at @p, perhaps in quotes; its length, 0: none. */
static size_t name_before(const char *text, const char *p, const char **name)
{
	const char *end = p, *start;

	while (end > text && p - end < 2 && end[-1] == ' ')
		end--;
	if (end > text && (end[-1] == '"' || end[-1] == '\''))
		end--;
	for (start = end; start > text && end - start < MAX_SECRET_NAME && is_token_char(start[-1]);)
		start--;
	*name = start;
	return (size_t)(end - start);
}

/**
 * At an '=' or ':' that gives a secret its value, in code, a URL, a header or a dict: where the value begins
 * and ends. A value without quotes has to look like one: numbers, calls and words of a sentence do not.
 */
static bool named_value(const char *text, const char *p, const char **begin, const char **end)
{
	const char *name, *v = p + 1 + strspn(p + 1, " ");
	size_t len = name_before(text, p, &name), n = 0, digits;

	if (!len || !names_secret(name, len))
		return false;
	if (*p == ':' && contains(name, len, "AUTHORIZATION")) {
		n = strcspn(v, "\"'\n");
	} else if (*v == '"' || *v == '\'') {
		const char quote[] = {*v++, '\0'};

		n = strcspn(v, quote);
	} else if (*p == '=' && v == p + 1) {
		while (is_value_char(v[n]))
			n++;
		digits = strspn(v, "0123456789.");
		if (n < MIN_BARE_SECRET || digits == n || v[n] == '(')
			return false;
	}
	*begin = v;
	*end = v + n;
	return n > 0;
}

/** Bytes of what comes after "Bearer " at @p, or 0. */
static size_t bearer_at(const char *p)
{
	size_t n = 0;

	if (strncasecmp(p, BEARER, strlen(BEARER)))
		return 0;
	for (p += strlen(BEARER); is_token_char(*p) || (*p && strchr("+/.~=", *p)); p++)
		n++;
	return n >= MIN_BARE_SECRET ? n : 0;
}

/** At a byte after which a secret may come: where that begins and ends. */
static bool announced(const char *text, const char *p, const char **begin, const char **end)
{
	size_t n;

	if (!strncmp(p, "://", 3))
		return url_password(p, begin, end);
	if (*p == '=' || *p == ':')
		return named_value(text, p, begin, end);
	n = *p == 'b' || *p == 'B' ? bearer_at(p) : 0;
	*begin = p + strlen(BEARER);
	*end = *begin + n;
	return n > 0;
}

const char *cs_mask_value(struct cs_arena *arena, const char *text)
{
	const char *p = text, *begin, *end, *result = text;
	struct cs_strbuf out;
	bool masked = false;

	cs_strbuf_init(&out, strlen(text) * 3 + 3);
	while (*p) {
		size_t n = p == text || !is_token_char(p[-1]) ? token_at(p) : 0;

		if (n) {
			cs_strbuf_puts(&out, "***");
			p += n;
			masked = true;
		} else if (announced(text, p, &begin, &end)) {
			cs_strbuf_put(&out, p, (size_t)(begin - p));
			cs_strbuf_puts(&out, "***");
			p = end;
			masked = true;
		} else {
			cs_strbuf_putc(&out, *p++);
		}
	}
	if (masked)
		result = cs_arena_strdup(arena, cs_strbuf_text(&out));
	cs_strbuf_deinit(&out);
	return result;
}
