/* A file that has reached its limit (RLIMIT_FSIZE) as a full disk: ENOSPC instead of EFBIG. Loaded into the server by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>

#define FULL(error) ((error) == EFBIG ? ENOSPC : (error))

/* What sets errno: pwrite() and its like. */
#define WRITES(name, parameters, arguments)                        \
	ssize_t name parameters                                        \
	{                                                              \
		ssize_t (*next) parameters = dlsym(RTLD_NEXT, #name);      \
		ssize_t written = next arguments;                          \
		if (written < 0)                                           \
			errno = FULL(errno);                                   \
		return written;                                            \
	}

WRITES(pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
WRITES(pwrite64, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
WRITES(pwritev, (int fd, const struct iovec *from, int n, off_t at), (fd, from, n, at))
WRITES(pwritev64, (int fd, const struct iovec *from, int n, off_t at), (fd, from, n, at))

/* What returns the error. */
#define ALLOCATES(name)                                            \
	int name(int fd, off_t at, off_t n)                            \
	{                                                              \
		int (*next)(int, off_t, off_t) = dlsym(RTLD_NEXT, #name);  \
		int error = next(fd, at, n);                               \
		return FULL(error);                                        \
	}

ALLOCATES(posix_fallocate)
ALLOCATES(posix_fallocate64)
