// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Drivers that no kernel should have, for the proofs of "keyway xray":
 *
 *   cbc-aes-keyway-wrong   priority 7000: flips a bit of byte 17 of whatever it encrypts
 *   xts-aes-keyway-wrong   priority 7000: the same, only when the result goes into several buffers
 *   xts-aes-caam           priority 5000: right, slow, and with the name and the flags of NXP's engine
 *
 * Each hands its requests to the kernel's portable code.
 */
#include <crypto/internal/skcipher.h>
#include <crypto/scatterwalk.h>
#include <linux/delay.h>
#include <linux/module.h>

enum fault { ALWAYS_WRONG, WRONG_IN_PIECES, SLOW };

struct driver {
	struct skcipher_alg alg;
	const char *inner;
	enum fault fault;
};

struct context {
	struct crypto_skcipher *inner;
};

static struct driver *driver_of(struct crypto_skcipher *tfm)
{
	return container_of(crypto_skcipher_alg(tfm), struct driver, alg);
}

static int init_tfm(struct crypto_skcipher *tfm)
{
	struct context *context = crypto_skcipher_ctx(tfm);

	context->inner = crypto_alloc_skcipher(driver_of(tfm)->inner, 0, CRYPTO_ALG_ASYNC);
	if (IS_ERR(context->inner))
		return PTR_ERR(context->inner);
	crypto_skcipher_set_reqsize(tfm, sizeof(struct skcipher_request) + crypto_skcipher_reqsize(context->inner));
	return 0;
}

static void exit_tfm(struct crypto_skcipher *tfm)
{
	struct context *context = crypto_skcipher_ctx(tfm);

	crypto_free_skcipher(context->inner);
}

static int setkey(struct crypto_skcipher *tfm, const u8 *key, unsigned int length)
{
	struct context *context = crypto_skcipher_ctx(tfm);

	return crypto_skcipher_setkey(context->inner, key, length);
}

static int crypt(struct skcipher_request *req, bool encrypts)
{
	struct crypto_skcipher *tfm = crypto_skcipher_reqtfm(req);
	struct context *context = crypto_skcipher_ctx(tfm);
	struct skcipher_request *inner = skcipher_request_ctx(req);
	enum fault fault = driver_of(tfm)->fault;
	bool wrong = fault == ALWAYS_WRONG || (fault == WRONG_IN_PIECES && sg_nents(req->dst) > 1);
	u8 byte;
	int error;

	skcipher_request_set_tfm(inner, context->inner);
	skcipher_request_set_callback(inner, req->base.flags & CRYPTO_TFM_REQ_MAY_SLEEP, NULL, NULL);
	skcipher_request_set_crypt(inner, req->src, req->dst, req->cryptlen, req->iv);
	error = encrypts ? crypto_skcipher_encrypt(inner) : crypto_skcipher_decrypt(inner);
	if (fault == SLOW)
		usleep_range(2000, 2500);
	if (!error && encrypts && wrong && req->cryptlen > 17) {
		scatterwalk_map_and_copy(&byte, req->dst, 17, 1, 0);
		byte ^= 1;
		scatterwalk_map_and_copy(&byte, req->dst, 17, 1, 1);
	}
	return error;
}

static int encrypt(struct skcipher_request *req)
{
	return crypt(req, true);
}

static int decrypt(struct skcipher_request *req)
{
	return crypt(req, false);
}

#define DRIVER(algorithm, name, rank, more_flags, portable, what, keys) {	\
	.alg = {								\
		.base = {							\
			.cra_name = algorithm,					\
			.cra_driver_name = name,				\
			.cra_priority = rank,					\
			.cra_flags = more_flags,				\
			.cra_blocksize = 16,					\
			.cra_ctxsize = sizeof(struct context),			\
			.cra_module = THIS_MODULE,				\
		},								\
		.min_keysize = 16 * keys,					\
		.max_keysize = 32 * keys,					\
		.ivsize = 16,							\
		.init = init_tfm,						\
		.exit = exit_tfm,						\
		.setkey = setkey,						\
		.encrypt = encrypt,						\
		.decrypt = decrypt,						\
	},									\
	.inner = portable,							\
	.fault = what,								\
}

#define ENGINE (CRYPTO_ALG_ASYNC | CRYPTO_ALG_KERN_DRIVER_ONLY | CRYPTO_ALG_ALLOCATES_MEMORY)

static struct driver drivers[] = {
	DRIVER("cbc(aes)", "cbc-aes-keyway-wrong", 7000, 0, "cbc(aes-generic)", ALWAYS_WRONG, 1),
	DRIVER("xts(aes)", "xts-aes-keyway-wrong", 7000, 0, "xts(ecb(aes-generic))", WRONG_IN_PIECES, 2),
	DRIVER("xts(aes)", "xts-aes-caam", 5000, ENGINE, "xts(ecb(aes-generic))", SLOW, 2),
};

/* A driver name: that one alone. */
static char *only = "";
module_param(only, charp, 0444);

static bool registered[ARRAY_SIZE(drivers)];

static void leave(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		if (registered[i])
			crypto_unregister_skcipher(&drivers[i].alg);
}

static int __init enter(void)
{
	int i, error;

	for (i = 0; i < ARRAY_SIZE(drivers); i++) {
		if (*only && strcmp(only, drivers[i].alg.base.cra_driver_name))
			continue;
		error = crypto_register_skcipher(&drivers[i].alg);
		if (error) {
			leave();
			return error;
		}
		registered[i] = true;
	}
	return 0;
}

module_init(enter);
module_exit(leave);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Drivers that are wrong or slow on purpose");
