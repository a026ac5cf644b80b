/* GRUB's own key derivation as a Linux program: linked with the modules of its x86_64-efi build (crypto, pbkdf2, gcry_*),
 * of which this file is the kernel. Usage: speed HASH HARDWARE ITERATIONS SECONDS; prints iterations a second of one block, by the thread's
 * CPU time, the best run of those that fit into SECONDS, and the start of the key. HARDWARE is what cryptomount -A finds: 0 for nothing, or the
 * bits of libgcrypt-grub's hardware features.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the modules want of GRUB's kernel. */
void *grub_malloc(size_t size) { return malloc(size); }
void *grub_zalloc(size_t size) { return calloc(1, size); }
void *grub_calloc(size_t count, size_t size) { return calloc(count, size); }
void *grub_realloc(void *old, size_t size) { return realloc(old, size); }
void grub_free(void *old) { free(old); }
void *grub_memcpy(void *to, const void *from, size_t size) { return memmove(to, from, size); }
void *grub_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
void *grub_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }
int grub_strcmp(const char *one, const char *other) { return strcmp(one, other); }
int grub_strncmp(const char *one, const char *other, size_t size) { return strncmp(one, other, size); }
int grub_strword(const char *text, const char *word) { (void)text, (void)word; return 0; }
const char *grub_env_get(const char *name) { (void)name; return NULL; }
int grub_error(int number, const char *format, ...) { (void)format; return number; }
void grub_fatal(const char *format, ...) { fputs(format, stderr); abort(); }
int grub_getkey(void) { return 0; }
int grub_printf(const char *format, ...) { (void)format; return 0; }
int grub_vprintf(const char *format, va_list values) { (void)format, (void)values; return 0; }
void grub_real_dprintf(const char *file, int line, const char *condition, const char *format, ...)
{
    (void)file, (void)line, (void)condition, (void)format;
}
void grub_refresh(void) {}
void (*grub_xputs)(const char *);

/* In place of CPUID and of the registers that only firmware may set. */
static unsigned features;
unsigned _gcry_get_hw_features(void) { return features; }

extern const char _gcry_digest_spec_sha1[], _gcry_digest_spec_sha256[], _gcry_digest_spec_sha512[], _gcry_digest_spec_rmd160[];
extern int grub_crypto_pbkdf2(const void *md, const uint8_t *password, size_t password_len, const uint8_t *salt, size_t salt_len,
                              unsigned iterations, uint8_t *key, size_t key_len);

static const struct {
    const char *name;
    const void *md;
    size_t len;
} hashes[] = {
    {"sha1", _gcry_digest_spec_sha1, 20},
    {"sha256", _gcry_digest_spec_sha256, 32},
    {"sha512", _gcry_digest_spec_sha512, 64},
    {"ripemd160", _gcry_digest_spec_rmd160, 20},
};

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int count, char **words)
{
    if (count != 5)
        return fputs("usage: speed HASH HARDWARE ITERATIONS SECONDS\n", stderr), 2;
    features = strtoul(words[2], NULL, 16);
    const unsigned iterations = atoi(words[3]);
    const double until = now(CLOCK_MONOTONIC) + atof(words[4]);
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        uint8_t key[64];
        double best = 0;
        if (strcmp(words[1], hashes[i].name))
            continue;
        do {
            const double start = now(CLOCK_THREAD_CPUTIME_ID);
            if (grub_crypto_pbkdf2(hashes[i].md, (const uint8_t *)"password", 8, (const uint8_t *)"salt", 4, iterations, key, hashes[i].len))
                return fputs("GRUB cannot derive it\n", stderr), 1;
            const double rate = iterations / (now(CLOCK_THREAD_CPUTIME_ID) - start);
            best = rate > best ? rate : best;
        } while (now(CLOCK_MONOTONIC) < until);
        printf("%.0f ", best);
        for (size_t byte = 0; byte < 16; byte++)
            printf("%02x", key[byte]);
        return puts(""), 0;
    }
    return fputs("no such hash\n", stderr), 2;
}
