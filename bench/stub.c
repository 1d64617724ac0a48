/* A child that costs almost nothing: what remains in a measurement is the gateway. Loopback only.
 *
 * Takes llama-server's words for what Blazar emits (--port, --alias; every other word is ignored), answers /health and
 * /v1/models, and to any POST either 600 bytes of chat completion JSON or, when the body asks for a stream, CHUNKS
 * server-sent events, one HTTP chunk and one write each. Environment: BENCH_CHUNKS (200), BENCH_PACE_US (0: unpaced).
 * Every connection is one small state machine in one epoll loop.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FD = 8192, IN_SIZE = 1 << 18 };

struct conn {
  char *in;
  size_t have;
  int left;          /* stream chunks still to send */
  int64_t due;       /* when the next one is, CLOCK_MONOTONIC ns */
};

static struct conn conns[MAX_FD];
static int streaming[MAX_FD], streams, loop_fd;
static int chunks = 200;
static int64_t pace;
static char answer[2048], models[512], event_text[512];
static size_t answer_len, models_len, event_len;
static const char health[] = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}";
static const char head[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void say(int fd, const char *data, size_t len) {
  while (len) {
    ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) { sched_yield(); continue; } /* small writes: a full buffer drains once its reader runs */
    if (n <= 0) return;
    data += n, len -= (size_t)n;
  }
}

static void prepare(const char *alias) {
  char body[1024];
  int n = snprintf(body, sizeof body,
                   "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"%s\","
                   "\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":"
                   "\"%.300s\"}}],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":60,\"total_tokens\":80}}",
                   alias,
                   "A local gateway adds its own cost to the first token, to every token, and to the processor that the "
                   "engine needs too, so this answer is as plain as can be and as long as a short paragraph, which is "
                   "what most answers are when nobody asks for more than a paragraph of text from a model.");
  answer_len = (size_t)snprintf(answer, sizeof answer,
                                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", n, body);
  n = snprintf(body, sizeof body, "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\"}]}", alias);
  models_len = (size_t)snprintf(models, sizeof models,
                                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", n, body);
  n = snprintf(body, sizeof body,
               "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"%s\","
               "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token and some more words\"},\"finish_reason\":null}]}\n\n",
               alias);
  event_len = (size_t)snprintf(event_text, sizeof event_text, "%x\r\n%s\r\n", n, body);
}

static void end_stream(int fd) {
  static const char last[] =
      "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench\","
      "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
      "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench\","
      "\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":200,\"total_tokens\":220}}\n\n"
      "data: [DONE]\n\n";
  char text[1024];
  int n = snprintf(text, sizeof text, "%zx\r\n%s\r\n0\r\n\r\n", sizeof last - 1, last);
  say(fd, text, (size_t)n);
  for (int i = 0; i < streams; i++)
    if (streaming[i] == fd) { streaming[i] = streaming[--streams]; break; }
}

static void drop(int fd) {
  for (int i = 0; i < streams; i++)
    if (streaming[i] == fd) { streaming[i] = streaming[--streams]; break; }
  free(conns[fd].in);
  memset(&conns[fd], 0, sizeof conns[fd]);
  close(fd);
}

static void handle(int fd, const char *request, const char *body, size_t length) {
  if (!strncmp(request, "GET /v1/models", 14)) say(fd, models, models_len);
  else if (!strncmp(request, "GET ", 4)) say(fd, health, sizeof health - 1);
  else if (memmem(body, length, "\"stream\":true", 13) || memmem(body, length, "\"stream\": true", 14)) {
    say(fd, head, sizeof head - 1);
    conns[fd].left = chunks, conns[fd].due = now();
    streaming[streams++] = fd;
  } else say(fd, answer, answer_len);
}

static void on_input(int fd) {
  struct conn *c = &conns[fd];
  if (!c->in) c->in = malloc(IN_SIZE);
  ssize_t n = recv(fd, c->in + c->have, IN_SIZE - 1 - c->have, 0);
  if (n < 0 && errno == EAGAIN) return;
  if (n <= 0) { drop(fd); return; }
  c->have += (size_t)n;
  c->in[c->have] = 0;
  for (;;) {
    char *end = strstr(c->in, "\r\n\r\n");
    if (!end) return;
    size_t length = 0;
    char *field = strcasestr(c->in, "\ncontent-length:");
    if (field && field < end) length = strtoul(field + 16, NULL, 10);
    size_t whole = (size_t)(end + 4 - c->in) + length;
    if (c->have < whole) return;
    handle(fd, c->in, end + 4, length);
    memmove(c->in, c->in + whole, c->have - whole + 1);
    c->have -= whole;
  }
}

static int64_t advance_streams(void) { /* ns until something is due, or -1 */
  int64_t t = now(), next = INT64_MAX;
  for (int i = streams - 1; i >= 0; i--) {
    int fd = streaming[i];
    struct conn *c = &conns[fd];
    if (pace == 0) {
      say(fd, event_text, event_len);
      if (--c->left <= 0) end_stream(fd);
      continue;
    }
    while (c->due <= t && c->left > 0) {
      say(fd, event_text, event_len);
      c->left--, c->due += pace;
    }
    if (c->left <= 0) end_stream(fd);
    else if (c->due < next) next = c->due;
  }
  if (streams && pace == 0) return 0;
  return streams ? next - t : -1;
}

int main(int argc, char **argv) {
  int port = 8080;
  const char *alias = "bench";
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--help")) return 0;
    if (!strcmp(argv[i], "--version")) { fprintf(stderr, "version: 1 (bench)\n"); return 0; }
    if (i + 1 < argc && !strcmp(argv[i], "--port")) port = atoi(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--alias")) alias = argv[++i];
  }
  if (getenv("BENCH_CHUNKS")) chunks = atoi(getenv("BENCH_CHUNKS"));
  if (getenv("BENCH_PACE_US")) pace = atoll(getenv("BENCH_PACE_US")) * 1000;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prepare(alias);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 1024)) { perror("bind"); return 1; }
  socklen_t size = sizeof a;
  getsockname(listener, (struct sockaddr *)&a, &size);
  printf("%d\n", ntohs(a.sin_port)), fflush(stdout);
  loop_fd = epoll_create1(0);
  struct epoll_event e = {.events = EPOLLIN, .data.fd = listener}, got[256];
  epoll_ctl(loop_fd, EPOLL_CTL_ADD, listener, &e);
  for (;;) {
    int64_t wait = advance_streams();
    struct timespec until = {wait / 1000000000, wait % 1000000000};
    int n = epoll_pwait2(loop_fd, got, 256, wait < 0 ? NULL : &until, NULL);
    for (int i = 0; i < n; i++) {
      int fd = got[i].data.fd;
      if (fd != listener) { on_input(fd); continue; }
      while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MAX_FD) { close(fd); continue; }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        e.data.fd = fd, epoll_ctl(loop_fd, EPOLL_CTL_ADD, fd, &e);
      }
    }
  }
}
