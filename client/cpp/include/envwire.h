/*
 * envwire.h: a C99 client for reinforcement-learning environments on another machine, over the direct channel.
 *
 * One header that needs only POSIX sockets. In one source file of your program write
 *
 *     #define ENVWIRE_IMPLEMENTATION
 *     #include "envwire.h"
 *
 * and in all others include it without the macro. Start the server with a port for direct channels,
 * `envwire serve CartPole-v1 --direct-port 50052`, and:
 *
 *     envwire_env* env = envwire_make("localhost", "50052", "CartPole-v1", NULL);
 *     envwire_result result;
 *     if (envwire_error(env)) { puts(envwire_error(env)); return 1; }
 *     envwire_reset(env, 42, &result);
 *     while (envwire_step_int(env, 1, &result) == 0 && !result.terminated && !result.truncated) {
 *       const float* observation = result.observation.data;
 *     }
 *     envwire_close(env);
 *
 * Requests are numbered. When the connection breaks, the request is sent again on another one until `timeout` expires:
 * no step is lost or taken twice. One thread at a time may drive an environment. There is no TLS; the C++ library in
 * the same folder has it, and all other features. docs/protocol.md describes the bytes under "The direct channel".
 */
#ifndef ENVWIRE_H
#define ENVWIRE_H

#if defined(ENVWIRE_IMPLEMENTATION) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* sockets beside C99; define it yourself where other headers come first */
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types, as in values.proto. */
enum {
  ENVWIRE_BOOL = 1,
  ENVWIRE_INT8,
  ENVWIRE_INT16,
  ENVWIRE_INT32,
  ENVWIRE_INT64,
  ENVWIRE_UINT8,
  ENVWIRE_UINT16,
  ENVWIRE_UINT32,
  ENVWIRE_UINT64,
  ENVWIRE_FLOAT16,
  ENVWIRE_FLOAT32,
  ENVWIRE_FLOAT64
};

#define ENVWIRE_MAX_DIMS 8

/* An array in C order; its elements are valid until the next call with the same environment. */
typedef struct {
  int dtype; /* 0 where the value is neither an array nor a NumPy scalar, such as a plain number: read `message` then */
  int ndim;
  uint64_t shape[ENVWIRE_MAX_DIMS];
  const void* data;
  size_t bytes;
} envwire_array;

/* What a reset or a step led to. */
typedef struct {
  envwire_array observation;
  double reward;
  int terminated;
  int truncated;
  const unsigned char* message; /* the serialised ResetResponse or StepResponse, for all that is not above */
  size_t message_bytes;
} envwire_result;

typedef struct envwire_env envwire_env;

/*
 * Makes an environment at a direct port. `token` may be NULL; there is no TLS, so anyone on the way to another machine
 * can read it. Returns NULL only if memory is exhausted. Check envwire_error() for errors, and call envwire_close() in
 * any case.
 */
envwire_env* envwire_make(const char* host, const char* port, const char* env_id, const char* token);

/*
 * Seconds to wait for an answer, connections that break included; 70 at first. A name of a host takes as long as the
 * system's resolver takes, which C cannot limit: give an address where that matters.
 */
void envwire_set_timeout(envwire_env* env, double seconds);

/* Each returns 0, or -1 after an error, which envwire_error() and envwire_reason() tell. */
int envwire_reset(envwire_env* env, int64_t seed, envwire_result* result); /* a negative seed: go on without one */
int envwire_step_int(envwire_env* env, int64_t action, envwire_result* result);
int envwire_step_array(envwire_env* env, const envwire_array* action, envwire_result* result);
/* An action of any kind: a serialised envwire.v1.Value. */
int envwire_step_value(envwire_env* env, const void* value, size_t bytes, envwire_result* result);

/* What went wrong with the last call, in English; NULL when nothing did. */
const char* envwire_error(const envwire_env* env);
/* Why, for programs: "SESSION_LOST" and so on, as in docs/protocol.md; "UNAVAILABLE" when no server answers. */
const char* envwire_reason(const envwire_env* env);
/* How often the session went on after its connection broke. */
int envwire_resumed(const envwire_env* env);

/* Closes the environment, ends its session, and frees it. */
void envwire_close(envwire_env* env);

#ifdef __cplusplus
}
#endif

#endif /* ENVWIRE_H */

#ifdef ENVWIRE_IMPLEMENTATION
#undef ENVWIRE_IMPLEMENTATION

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- Buffers that grow. Want of memory is noted once, and the call fails. ---- */

typedef struct {
  unsigned char* data;
  size_t size;
  size_t room;
  int failed;
} envwire__buffer;

static int envwire__reserve(envwire__buffer* buffer, size_t room) {
  if (room > buffer->room) {
    unsigned char* data = (unsigned char*)realloc(buffer->data, room);
    if (data == NULL) {
      buffer->failed = 1;
      return 0;
    }
    buffer->data = data;
    buffer->room = room;
  }
  return 1;
}

static void envwire__append(envwire__buffer* buffer, const void* data, size_t size) {
  size_t needed = buffer->size + size;
  if (needed > buffer->room && !envwire__reserve(buffer, needed * 2)) return;
  if (size > 0) memcpy(buffer->data + buffer->size, data, size);
  buffer->size = needed;
}

/* ---- Protobuf, as much as is needed: varints, and fields with a length. ---- */

static void envwire__put_varint(envwire__buffer* out, uint64_t number) {
  unsigned char bytes[10];
  size_t size = 0;
  do {
    bytes[size++] = (unsigned char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
    number >>= 7;
  } while (number > 0);
  envwire__append(out, bytes, size);
}

static void envwire__put_number(envwire__buffer* out, unsigned field, uint64_t number) {
  envwire__put_varint(out, (uint64_t)field << 3);
  envwire__put_varint(out, number);
}

static void envwire__put_bytes(envwire__buffer* out, unsigned field, const void* data, size_t size) {
  envwire__put_varint(out, (uint64_t)field << 3 | 2);
  envwire__put_varint(out, size);
  envwire__append(out, data, size);
}

static uint64_t envwire__zigzag(int64_t number) { return ((uint64_t)number << 1) ^ (number < 0 ? ~(uint64_t)0 : 0); }

/* A message that is being read. */
typedef struct {
  const unsigned char* at;
  const unsigned char* end;
} envwire__reader;

/* One field: a number, or bytes. */
typedef struct {
  unsigned number;
  uint64_t value; /* of varints and fixed sizes */
  envwire__reader bytes;
} envwire__field;

static int envwire__get_varint(envwire__reader* in, uint64_t* number) {
  unsigned shift = 0;
  *number = 0;
  while (in->at < in->end && shift < 64) {
    unsigned char byte = *in->at++;
    *number |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return 1;
    shift += 7;
  }
  return 0;
}

/* Reads the next field; 0 at the end, and for what is broken. */
static int envwire__next(envwire__reader* in, envwire__field* field) {
  uint64_t tag = 0, size = 0;
  if (!envwire__get_varint(in, &tag)) return 0;
  field->number = (unsigned)(tag >> 3);
  field->value = 0;
  field->bytes.at = field->bytes.end = NULL;
  switch (tag & 7) {
    case 0: return envwire__get_varint(in, &field->value);
    case 1: size = 8; break;
    case 5: size = 4; break;
    case 2:
      if (!envwire__get_varint(in, &size)) return 0;
      break;
    default: return 0;
  }
  if (size > (uint64_t)(in->end - in->at)) return 0;
  field->bytes.at = in->at;
  field->bytes.end = in->at += size;
  if ((tag & 7) != 2) memcpy(&field->value, field->bytes.at, (size_t)size); /* little-endian, as this machine */
  return 1;
}

/* Finds the last field of a number, which is the one that counts. */
static int envwire__find(envwire__reader in, unsigned number, envwire__field* found) {
  envwire__field field;
  int has = 0;
  while (envwire__next(&in, &field)) {
    if (field.number == number) {
      *found = field;
      has = 1;
    }
  }
  return has;
}

/* ---- The environment. ---- */

struct envwire_env {
  int fd;
  char* host;
  char* port;
  double timeout;
  double deadline;
  uint64_t sequence;
  uint64_t limit;
  int resumed;
  int ended;
  char reason[64];
  char message[512];
  int has_error;
  envwire__buffer hello;   /* a serialised HelloRequest with the session's header */
  envwire__buffer request; /* the frame of the pending request, to be repeated as it is */
  envwire__buffer scratch;
  envwire__buffer scratch2;
  envwire__buffer elements;    /* of the last array, if they arrived unaligned */
  envwire__buffer answer;      /* the message of the last frame */
  envwire__buffer attachments; /* and what came behind it */
};

static double envwire__now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int envwire__fail(envwire_env* env, const char* reason, const char* message) {
  env->has_error = 1;
  snprintf(env->reason, sizeof env->reason, "%s", reason);
  snprintf(env->message, sizeof env->message, "%s", message);
  return -1;
}

static void envwire__copy_text(envwire__reader text, char* out, size_t room) {
  size_t size = (size_t)(text.end - text.at);
  if (size >= room) size = room - 1;
  memcpy(out, text.at, size);
  out[size] = 0;
}

/* Takes an ErrorStatus: its message, and the reason of its ErrorInfo. */
static int envwire__fail_by(envwire_env* env, envwire__reader status) {
  static const char* const url = "type.googleapis.com/google.rpc.ErrorInfo";
  static const char* const ending[] = {"SESSION_CLOSED", "SESSION_EXPIRED", "SESSION_LOST",
                                       "STEP_TIMEOUT",   "UNKNOWN_SESSION", "DRAINING"};
  envwire__reader in = status;
  envwire__field field, part;
  size_t i;
  envwire__fail(env, "UNKNOWN", "");
  if (envwire__find(status, 2, &field)) envwire__copy_text(field.bytes, env->message, sizeof env->message);
  while (envwire__next(&in, &field)) {
    if (field.number != 3 || !envwire__find(field.bytes, 1, &part)) continue;
    if ((size_t)(part.bytes.end - part.bytes.at) != strlen(url) || memcmp(part.bytes.at, url, strlen(url)) != 0)
      continue;
    if (envwire__find(field.bytes, 2, &part) && envwire__find(part.bytes, 1, &part)) {
      envwire__copy_text(part.bytes, env->reason, sizeof env->reason);
    }
  }
  for (i = 0; i < sizeof ending / sizeof *ending; ++i) {
    if (strcmp(env->reason, ending[i]) == 0) env->ended = 1;
  }
  return -1;
}

/* ---- Bytes on the socket. Each returns 0 when the connection is of no more use. ---- */

static int envwire__wait(int fd, short events, double deadline) {
  struct pollfd polled;
  polled.fd = fd;
  polled.events = events;
  polled.revents = 0;
  for (;;) {
    double left = deadline - envwire__now();
    int ready;
    if (left <= 0) return 0;
    ready = poll(&polled, 1, left > 3600 ? 3600000 : (int)(left * 1000) + 1);
    if (ready > 0) return 1;
    if (ready < 0 && errno != EINTR) return 0;
  }
}

static int envwire__write(envwire_env* env, const unsigned char* data, size_t size) {
  while (size > 0) {
#ifdef MSG_NOSIGNAL
    ssize_t sent = send(env->fd, data, size, MSG_NOSIGNAL);
#else
    ssize_t sent = send(env->fd, data, size, 0);
#endif
    if (sent > 0) {
      data += sent;
      size -= (size_t)sent;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!envwire__wait(env->fd, POLLOUT, env->deadline)) return 0;
    } else if (errno != EINTR) {
      return 0;
    }
  }
  return 1;
}

/* With `last` there is room for one byte more, which nobody has asked for: it would be the next answer's. */
static int envwire__read(envwire_env* env, unsigned char* data, size_t size, int last) {
  while (size > 0) {
    ssize_t count = recv(env->fd, data, last ? size + 1 : size, 0);
    if (count > 0 && (size_t)count > size) return 0;
    if (count > 0) {
      data += count;
      size -= (size_t)count;
    } else if (count == 0) {
      return 0;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!envwire__wait(env->fd, POLLIN, env->deadline)) return 0;
    } else if (errno != EINTR) {
      return 0;
    }
  }
  return 1;
}

/* Reads one frame: 16 bytes of lengths, a message, attachments; `last` where no other may follow. */
static int envwire__read_frame(envwire_env* env, int last) {
  unsigned char header[16];
  uint32_t message, slot;
  uint64_t attachments;
  if (!envwire__read(env, header, sizeof header, 0)) return 0;
  memcpy(&message, header, 4);
  memcpy(&slot, header + 4, 4);
  memcpy(&attachments, header + 8, 8);
  if (slot != 0 || attachments > env->limit || message > env->limit - attachments) return 0;
  if (!envwire__reserve(&env->answer, (size_t)message + 1)) return 0;
  if (!envwire__reserve(&env->attachments, (size_t)attachments + 1)) return 0;
  env->answer.size = message;
  env->attachments.size = (size_t)attachments;
  return envwire__read(env, env->answer.data, message, last && attachments == 0) &&
         envwire__read(env, env->attachments.data, (size_t)attachments, last);
}

static envwire__reader envwire__reader_of(const envwire__buffer* buffer) {
  envwire__reader reader;
  reader.at = buffer->data;
  reader.end = buffer->data + buffer->size;
  return reader;
}

/* Appends a frame that holds `message`. */
static void envwire__append_frame(envwire__buffer* out, const envwire__buffer* message) {
  unsigned char header[16] = {0};
  uint32_t size = (uint32_t)message->size;
  memcpy(header, &size, 4);
  envwire__append(out, header, sizeof header);
  envwire__append(out, message->data, message->size);
}

static void envwire__disconnect(envwire_env* env) {
  if (env->fd >= 0) close(env->fd);
  env->fd = -1;
}

/* Connects the socket. A firewall that drops packets must not cost long; a server that is there answers at once. */
static int envwire__connect(envwire_env* env, const struct addrinfo* address) {
  double soon = envwire__now() + 3;
  int error = 0;
  socklen_t size = sizeof error;
  fcntl(env->fd, F_SETFL, O_NONBLOCK);
  if (connect(env->fd, address->ai_addr, address->ai_addrlen) == 0) return 1;
  return errno == EINPROGRESS && envwire__wait(env->fd, POLLOUT, soon < env->deadline ? soon : env->deadline) &&
         getsockopt(env->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

static int envwire__dial(envwire_env* env) {
  struct addrinfo hints, *found = NULL, *each;
  const int on = 1;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(env->host, env->port, &hints, &found) != 0) return 0;
  for (each = found; each != NULL && env->fd < 0; each = each->ai_next) {
    env->fd = socket(each->ai_family, SOCK_STREAM, 0);
    if (env->fd >= 0 && !envwire__connect(env, each)) envwire__disconnect(env);
  }
  freeaddrinfo(found);
  if (env->fd < 0) return 0;
  setsockopt(env->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef SO_NOSIGPIPE
  setsockopt(env->fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  env->limit = 1 << 26; /* until the welcome tells: a MakeResponse may be large */
  return 1;
}

/* Reads a HelloResponse: 1 for a welcome, -1 for the server's error, 0 for a broken connection. */
static int envwire__welcome(envwire_env* env) {
  envwire__field field, limit;
  if (!envwire__read_frame(env, 1)) return 0;
  if (envwire__find(envwire__reader_of(&env->answer), 2, &field)) return envwire__fail_by(env, field.bytes);
  if (!envwire__find(envwire__reader_of(&env->answer), 1, &field)) return 0;
  if (envwire__find(field.bytes, 2, &limit)) env->limit = limit.value < SIZE_MAX / 16 ? limit.value : SIZE_MAX / 16;
  return 1;
}

static void envwire__start_hello(envwire__buffer* out) {
  out->size = 0;
  envwire__append(out, "envwire\1", 8);
}

/* Opens the channel of the session again. */
static int envwire__reconnect(envwire_env* env) {
  envwire__disconnect(env);
  if (!envwire__dial(env)) return 0;
  envwire__start_hello(&env->scratch);
  envwire__append_frame(&env->scratch, &env->hello);
  return envwire__write(env, env->scratch.data, env->scratch.size) ? envwire__welcome(env) : 0;
}

static void envwire__pause(double* seconds) {
  struct timespec pause;
  pause.tv_sec = (time_t)*seconds;
  pause.tv_nsec = (long)((*seconds - (double)pause.tv_sec) * 1e9);
  nanosleep(&pause, NULL);
  if (*seconds < 0.5) *seconds *= 2;
}

/* Returns whether the answer is one to `kind`, the number of its field in InteractResponse, or an error. */
static int envwire__answers(envwire_env* env, unsigned kind) {
  envwire__field field;
  const envwire__reader answer = envwire__reader_of(&env->answer);
  return envwire__find(answer, 15, &field) || envwire__find(answer, kind, &field);
}

/* Sends the pending request, and sends it again on other connections, until its answer is here. */
static int envwire__exchange(envwire_env* env, unsigned kind) {
  double pause = 0.02;
  int broke = 0;
  env->has_error = 0;
  env->deadline = envwire__now() + env->timeout;
  for (;;) {
    int open = env->fd >= 0 ? 1 : envwire__reconnect(env);
    if (open < 0) return -1;
    if (open > 0 && envwire__write(env, env->request.data, env->request.size) && envwire__read_frame(env, 1) &&
        envwire__answers(env, kind)) {
      break;
    }
    envwire__disconnect(env);
    if (envwire__now() >= env->deadline) return envwire__fail(env, "UNAVAILABLE", "no answer came in time");
    broke = 1;
    envwire__pause(&pause);
  }
  env->resumed += broke;
  return 0;
}

/* ---- Values. ---- */

static const unsigned envwire__item_sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};

static int envwire__get_tensor(envwire_env* env, envwire__reader in, envwire_array* array) {
  envwire__field field;
  uint64_t size = 1, offset = 0, number;
  int attached = 0, filled = 0, i;
  while (envwire__next(&in, &field)) {
    if (field.number == 1) array->dtype = (int)field.value;
    if (field.number == 2) { /* packed */
      while (envwire__get_varint(&field.bytes, &number) && array->ndim < ENVWIRE_MAX_DIMS) {
        array->shape[array->ndim++] = number;
      }
    }
    if (field.number == 3) {
      array->data = field.bytes.at;
      array->bytes = (size_t)(field.bytes.end - field.bytes.at);
    }
    if (field.number == 4) filled = field.value != 0;
    if (field.number == 6) {
      attached = 1;
      offset = field.value;
    }
  }
  if (array->dtype < 1 || array->dtype > ENVWIRE_FLOAT64 || filled) {
    array->dtype = 0;
    return 1;
  }
  for (i = 0; i < array->ndim; ++i) {
    if (array->shape[i] != 0 && size > env->limit / array->shape[i]) return 0;
    size *= array->shape[i];
  }
  size *= envwire__item_sizes[array->dtype];
  if (attached) {
    if (offset > env->attachments.size || size > env->attachments.size - offset) return 0;
    array->data = env->attachments.data + offset;
    array->bytes = (size_t)size;
  }
  if (array->bytes != size) return 0;
  if ((uintptr_t)array->data % envwire__item_sizes[array->dtype] != 0) { /* the caller reads it as numbers */
    env->elements.size = 0;
    envwire__append(&env->elements, array->data, array->bytes);
    if (env->elements.failed) return 0;
    array->data = env->elements.data;
  }
  return 1;
}

/* Reads a Value that is an array (8) or a scalar (9). */
static int envwire__get_array(envwire_env* env, envwire__reader value, envwire_array* array) {
  envwire__field field;
  memset(array, 0, sizeof *array);
  if (envwire__find(value, 8, &field) || envwire__find(value, 9, &field)) {
    return envwire__get_tensor(env, field.bytes, array);
  }
  return 1;
}

/* Reads the answer to `kind`. */
static int envwire__take(envwire_env* env, unsigned kind, envwire_result* result) {
  envwire__field field, body;
  memset(result, 0, sizeof *result);
  memset(&body, 0, sizeof body);
  if (envwire__find(envwire__reader_of(&env->answer), 15, &field)) return envwire__fail_by(env, field.bytes);
  envwire__find(envwire__reader_of(&env->answer), kind, &body); /* `envwire__exchange` made sure of it */
  result->message = body.bytes.at;
  result->message_bytes = (size_t)(body.bytes.end - body.bytes.at);
  if (kind != 3 && kind != 4) return 0;
  if (envwire__find(body.bytes, 1, &field) && !envwire__get_array(env, field.bytes, &result->observation)) {
    return envwire__fail(env, "INVALID_VALUE", "the observation is broken");
  }
  if (kind == 4) {
    if (envwire__find(body.bytes, 2, &field)) memcpy(&result->reward, &field.value, 8);
    if (envwire__find(body.bytes, 3, &field)) result->terminated = field.value != 0;
    if (envwire__find(body.bytes, 4, &field)) result->truncated = field.value != 0;
  }
  return 0;
}

/* Numbers a request whose other fields are in `scratch2`, sends it, and reads its answer. */
static int envwire__serve(envwire_env* env, unsigned kind, envwire_result* result) {
  unsigned char header[16] = {0};
  uint32_t size;
  if (env->ended && env->sequence == 0 && env->has_error) return -1; /* it was not made, and says why */
  if (env->ended) return envwire__fail(env, "SESSION_CLOSED", "the session has ended; make another environment");
  env->scratch.size = 0;
  envwire__put_number(&env->scratch, 2, ++env->sequence);
  envwire__append(&env->scratch, env->scratch2.data, env->scratch2.size);
  env->request.size = 0;
  envwire__append(&env->request, header, sizeof header);
  envwire__put_bytes(&env->request, kind, env->scratch.data, env->scratch.size);
  if (env->request.failed || env->scratch.failed || env->scratch2.failed) {
    --env->sequence;
    return envwire__fail(env, "INTERNAL", "out of memory");
  }
  size = (uint32_t)(env->request.size - sizeof header);
  memcpy(env->request.data, &size, 4);
  if (envwire__exchange(env, kind) != 0) {
    env->ended = 1; /* its number is in doubt: this small client goes no further */
    return -1;
  }
  if (envwire__take(env, kind, result) == 0) return 0;
  /* What did not get as far as the session has used no number. */
  if (strcmp(env->reason, "MALFORMED_REQUEST") == 0 || strcmp(env->reason, "CAPACITY_REACHED") == 0) --env->sequence;
  return -1;
}

/* ---- What users call. ---- */

static void envwire__random(unsigned char* out, size_t size) {
  FILE* source = fopen("/dev/urandom", "rb");
  size_t got = source != NULL ? fread(out, 1, size, source) : 0;
  if (source != NULL) fclose(source);
  for (; got < size; ++got) out[got] = (unsigned char)(envwire__now() * 1e9 / (double)(got + 1));
}

static char* envwire__copy(const char* text) {
  char* copy = (char*)malloc(strlen(text) + 1);
  if (copy != NULL) strcpy(copy, text);
  return copy;
}

/* Asks for a session on a new connection: 1 when it is made, -1 for the server's error, 0 for a broken connection. */
static int envwire__ask_make(envwire_env* env) {
  envwire__field made, part;
  envwire__disconnect(env);
  if (!envwire__dial(env) || !envwire__write(env, env->request.data, env->request.size)) return 0;
  if (!envwire__read_frame(env, 0)) return 0;
  if (envwire__find(envwire__reader_of(&env->answer), 2, &made)) return envwire__fail_by(env, made.bytes);
  if (!envwire__find(envwire__reader_of(&env->answer), 3, &made)) return 0;
  env->scratch.size = env->hello.size = 0;
  if (envwire__find(made.bytes, 1, &part)) {
    envwire__put_bytes(&env->scratch, 1, part.bytes.at, (size_t)(part.bytes.end - part.bytes.at));
  }
  if (envwire__find(made.bytes, 2, &part)) {
    envwire__put_bytes(&env->scratch, 2, part.bytes.at, (size_t)(part.bytes.end - part.bytes.at));
  }
  envwire__put_bytes(&env->hello, 1, env->scratch.data, env->scratch.size);
  return envwire__welcome(env);
}

envwire_env* envwire_make(const char* host, const char* port, const char* env_id, const char* token) {
  envwire_env* env = (envwire_env*)calloc(1, sizeof *env);
  unsigned char id[16];
  double pause = 0.02;
  int made = 0;
  if (env == NULL) return NULL;
  env->fd = -1;
  env->timeout = 70;
  env->ended = 1;
  env->host = envwire__copy(host);
  env->port = envwire__copy(port);
  if (env->host == NULL || env->port == NULL) {
    envwire__fail(env, "INTERNAL", "out of memory");
    return env;
  }
  /* The hello with `make`, and behind it the MakeRequest with an id, under which it may be repeated. */
  env->scratch.size = env->scratch2.size = 0;
  if (token != NULL) envwire__put_bytes(&env->scratch, 1, token, strlen(token));
  envwire__put_bytes(&env->scratch2, 3, env->scratch.data, env->scratch.size);
  envwire__start_hello(&env->request);
  envwire__append_frame(&env->request, &env->scratch2);
  env->scratch.size = 0;
  envwire__random(id, sizeof id);
  envwire__put_bytes(&env->scratch, 1, env_id, strlen(env_id));
  envwire__put_bytes(&env->scratch, 10, id, sizeof id);
  envwire__append_frame(&env->request, &env->scratch);
  env->deadline = envwire__now() + env->timeout;
  {
    double patience = envwire__now() + 2; /* where nobody listens there is nothing to wait for */
    while ((made = envwire__ask_make(env)) == 0 && envwire__now() < (env->fd < 0 ? patience : env->deadline)) {
      envwire__pause(&pause);
    }
  }
  if (made == 0)
    envwire__fail(env, "UNAVAILABLE", "no server with a direct port answers there: see `envwire serve --direct-port`");
  if (made > 0) env->ended = 0;
  return env;
}

void envwire_set_timeout(envwire_env* env, double seconds) { env->timeout = seconds; }

int envwire_reset(envwire_env* env, int64_t seed, envwire_result* result) {
  env->scratch2.size = 0;
  if (seed >= 0) {
    env->scratch.size = 0;
    envwire__put_number(&env->scratch, 3, envwire__zigzag(seed));
    envwire__put_bytes(&env->scratch2, 3, env->scratch.data, env->scratch.size);
  }
  return envwire__serve(env, 3, result);
}

int envwire_step_value(envwire_env* env, const void* value, size_t bytes, envwire_result* result) {
  env->scratch2.size = 0;
  envwire__put_bytes(&env->scratch2, 3, value, bytes);
  return envwire__serve(env, 4, result);
}

int envwire_step_int(envwire_env* env, int64_t action, envwire_result* result) {
  env->scratch.size = 0;
  envwire__put_number(&env->scratch, 3, envwire__zigzag(action));
  env->scratch2.size = 0;
  envwire__put_bytes(&env->scratch2, 3, env->scratch.data, env->scratch.size);
  return envwire__serve(env, 4, result);
}

int envwire_step_array(envwire_env* env, const envwire_array* action, envwire_result* result) {
  int i;
  if (action->ndim < 0 || action->ndim > ENVWIRE_MAX_DIMS) {
    return envwire__fail(env, "INVALID_VALUE", "an array has from 0 to 8 axes");
  }
  env->scratch.size = 0;
  for (i = 0; i < action->ndim; ++i) envwire__put_varint(&env->scratch, action->shape[i]);
  env->scratch2.size = 0; /* the Tensor */
  envwire__put_number(&env->scratch2, 1, (uint64_t)action->dtype);
  if (action->ndim > 0) envwire__put_bytes(&env->scratch2, 2, env->scratch.data, env->scratch.size);
  envwire__put_bytes(&env->scratch2, 3, action->data, action->bytes);
  env->scratch.size = 0; /* the Value */
  envwire__put_bytes(&env->scratch, 8, env->scratch2.data, env->scratch2.size);
  env->scratch2.size = 0;
  envwire__put_bytes(&env->scratch2, 3, env->scratch.data, env->scratch.size);
  return envwire__serve(env, 4, result);
}

const char* envwire_error(const envwire_env* env) {
  if (env == NULL) return "out of memory";
  return env->has_error ? env->message : NULL;
}

const char* envwire_reason(const envwire_env* env) { return env != NULL && env->has_error ? env->reason : ""; }

int envwire_resumed(const envwire_env* env) { return env->resumed; }

void envwire_close(envwire_env* env) {
  envwire_result result;
  if (env == NULL) return;
  if (!env->ended) {
    env->scratch2.size = 0;
    if (env->timeout > 10) env->timeout = 10;
    envwire__serve(env, 6, &result);
  }
  envwire__disconnect(env);
  free(env->host);
  free(env->port);
  free(env->hello.data);
  free(env->request.data);
  free(env->scratch.data);
  free(env->scratch2.data);
  free(env->elements.data);
  free(env->answer.data);
  free(env->attachments.data);
  free(env);
}

#endif /* ENVWIRE_IMPLEMENTATION */
