// A layer between a process and its files, loaded with LD_PRELOAD: it writes down every change of the files under a directory,
// in order, and fails or ends the process where it is told to. It sees what the process does, SQLite included, and changes
// nothing else. file-layer.ts builds it, sets the variables, and reads what it wrote.
//
//   COX_FILES_DIR     the directory (an absolute path without links)
//   COX_FILES_TRACE   where to write the trace; absent: nowhere
//   COX_FILES_FULL    a path: while there is a file, the disk is full, and nothing that is written makes a file longer
//   COX_FILES_FAIL    what to do at which operation, all counted from 1:
//                       kill:N      end the process (SIGKILL) instead of the Nth change or sync
//                       half:N      the same, but if it is a write, after half of it
//                       sync:N:END  the Nth sync of a file whose path ends in END fails with EIO; later ones work again
//                       write:N:END the same, of a write
//                       nosync      syncs do nothing
//                       point:KIND:WHEN:N:END
//                                   end the process at the Nth operation of that kind (write, truncate, sync, unlink) on a file
//                                   whose path ends in END: before it, after half of it (a write), or after it
//
// A record of the trace: u8 kind, u8 0, u16 bytes of the path, u32 bytes of data, u64 offset (or new length), path, data.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { CREATE = 1, WRITE = 2, TRUNCATE = 3, SYNC = 4, UNLINK = 5 };

#define MAX_FILES 4096
static char *paths[MAX_FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, trace = -1, no_sync;
static const char *directory, *full;
static size_t directory_length;
static long operations, kill_at, half_at, sync_at, syncs, failing_write, writes, point_at, points;
static char sync_end[256], write_end[256], point_kind[16], point_when[16], point_end[256];

// What becomes of an operation.
enum fate { WHOLE, HALF, LAST };

static void prepare(void) {
  if (ready) return;
  ready = 1;
  directory = getenv("COX_FILES_DIR");
  directory_length = directory == NULL ? 0 : strlen(directory);
  const char *name = getenv("COX_FILES_TRACE");
  if (directory != NULL && name != NULL) trace = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  full = getenv("COX_FILES_FULL");
  const char *fail = getenv("COX_FILES_FAIL");
  if (fail == NULL) return;
  sscanf(fail, "kill:%ld", &kill_at);
  sscanf(fail, "half:%ld", &half_at);
  sscanf(fail, "sync:%ld:%255s", &sync_at, sync_end);
  sscanf(fail, "write:%ld:%255s", &failing_write, write_end);
  sscanf(fail, "point:%15[^:]:%15[^:]:%ld:%255s", point_kind, point_when, &point_at, point_end);
  no_sync = strcmp(fail, "nosync") == 0;
}

static int ours(const char *path) {
  return directory != NULL && path != NULL && strncmp(path, directory, directory_length) == 0 &&
         (path[directory_length] == '/' || path[directory_length] == 0);
}

static const char *path_of(int fd) { return fd >= 0 && fd < MAX_FILES ? paths[fd] : NULL; }

static void put(const void *data, size_t length) {
  const char *at = data;
  while (length > 0) {
    ssize_t written = syscall(SYS_write, trace, at, length);
    if (written <= 0) abort();
    at += written;
    length -= written;
  }
}

static void record(enum kind kind, const char *path, uint64_t offset, const void *data, uint32_t length) {
  if (trace < 0) return;
  uint8_t header[16] = {kind, 0};
  uint16_t path_length = strlen(path);
  memcpy(header + 2, &path_length, 2);
  memcpy(header + 4, &length, 4);
  memcpy(header + 8, &offset, 8);
  put(header, sizeof header);
  put(path, path_length);
  if (length > 0) put(data, length);
}

static void end_process(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

static int ends_in(const char *path, const char *end) {
  size_t length = strlen(path), end_length = strlen(end);
  return length >= end_length && strcmp(path + length - end_length, end) == 0;
}

// Counts an operation that is about to happen, and says what becomes of it: the process may end here, or has to in the middle of
// it, or after it.
static enum fate begin(const char *kind, const char *path) {
  if (point_at > 0 && strcmp(kind, point_kind) == 0 && ends_in(path, point_end) && ++points == point_at) {
    if (strcmp(point_when, "before") == 0) end_process();
    return strcmp(point_when, "half") == 0 ? HALF : LAST;
  }
  // What tells of acknowledgements is an observer's: only a point that names it ends the process there.
  if (ends_in(path, "/acks")) return WHOLE;
  operations++;
  if (operations == kill_at) end_process();
  return operations == half_at ? HALF : WHOLE;
}

static int opened(int fd, const char *path, int existed) {
  if (fd < 0 || fd >= MAX_FILES) return fd;
  pthread_mutex_lock(&lock);
  free(paths[fd]);
  paths[fd] = NULL;
  if (ours(path)) {
    paths[fd] = strdup(path);
    if (!existed) record(CREATE, path, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

static int open_file(int at, const char *path, int flags, mode_t mode) {
  prepare();
  struct stat found;
  int existed = !ours(path) || !(flags & O_CREAT) || syscall(SYS_newfstatat, AT_FDCWD, path, &found, 0) == 0;
  int fd = syscall(SYS_openat, at, path, flags, mode);
  return opened(fd, path, existed);
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE(flags) return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_file(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_file(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_file(at, path, flags | O_LARGEFILE, mode); }

int close(int fd) {
  pthread_mutex_lock(&lock);
  if (fd >= 0 && fd < MAX_FILES) {
    free(paths[fd]);
    paths[fd] = NULL;
  }
  int result = syscall(SYS_close, fd);
  pthread_mutex_unlock(&lock);
  return result;
}

// How much of a write there is room for.
static size_t room(int fd, const char *path, size_t length, off_t offset) {
  struct stat found;
  if (full == NULL || ends_in(path, "/acks") || syscall(SYS_newfstatat, AT_FDCWD, full, &found, 0) != 0) return length;
  if (syscall(SYS_fstat, fd, &found) != 0 || offset >= found.st_size) return 0;
  return (size_t)(found.st_size - offset) < length ? (size_t)(found.st_size - offset) : length;
}

static ssize_t write_at(int fd, const void *data, size_t length, off_t offset) {
  if (path_of(fd) == NULL) return syscall(SYS_pwrite64, fd, data, length, offset);
  pthread_mutex_lock(&lock);
  const char *path = path_of(fd);
  size_t fits = room(fd, path, length, offset);
  if (fits == 0 && length > 0) {
    pthread_mutex_unlock(&lock);
    errno = ENOSPC;
    return -1;
  }
  if (failing_write > 0 && ends_in(path, write_end) && ++writes == failing_write) {
    pthread_mutex_unlock(&lock);
    errno = EIO;
    return -1;
  }
  length = fits;
  enum fate fate = begin("write", path);
  ssize_t written = syscall(SYS_pwrite64, fd, data, fate == HALF ? length / 2 : length, offset);
  if (fate != WHOLE) end_process();
  int saved = errno;
  if (written > 0) record(WRITE, path, offset, data, written);
  pthread_mutex_unlock(&lock);
  errno = saved;
  return written;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return write_at(fd, data, length, offset); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) { return write_at(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
  if (path_of(fd) == NULL) return syscall(SYS_write, fd, data, length);
  off_t offset = syscall(SYS_lseek, fd, 0, SEEK_CUR);
  ssize_t written = write_at(fd, data, length, offset);
  if (written > 0) syscall(SYS_lseek, fd, offset + written, SEEK_SET);
  return written;
}

static int truncate_to(int fd, off_t length) {
  if (path_of(fd) == NULL) return syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&lock);
  enum fate fate = begin("truncate", path_of(fd));
  if (fate == HALF) end_process();
  int result = syscall(SYS_ftruncate, fd, length);
  if (fate == LAST) end_process();
  int saved = errno;
  if (result == 0) record(TRUNCATE, path_of(fd), length, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

int ftruncate(int fd, off_t length) { return truncate_to(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncate_to(fd, length); }

static int sync_file(int fd, long call) {
  if (path_of(fd) == NULL) return syscall(call, fd);
  pthread_mutex_lock(&lock);
  const char *path = path_of(fd);
  int result = 0, saved = 0;
  enum fate fate = begin("sync", path);
  if (fate == HALF) end_process();
  if (sync_at > 0 && ends_in(path, sync_end) && ++syncs == sync_at) {
    result = -1;
    saved = EIO;
  } else if (!no_sync) {
    // The disk of the test is the trace: what the machine does in truth would only take time.
    record(SYNC, path, 0, NULL, 0);
  }
  if (fate == LAST) end_process();
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }

int unlink(const char *path) {
  prepare();
  if (!ours(path)) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  pthread_mutex_lock(&lock);
  enum fate fate = begin("unlink", path);
  if (fate == HALF) end_process();
  int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  if (fate == LAST) end_process();
  int saved = errno;
  if (result == 0) record(UNLINK, path, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}
