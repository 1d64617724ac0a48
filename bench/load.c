/* A load generator that costs almost nothing. Loopback only; bounded in requests and in time.
 *
 * usage: load PORT PATH CONCURRENCY REQUESTS SECONDS RATE KEY < body
 * Keeps CONCURRENCY connections busy (RATE 0, closed loop) or sends RATE requests a second over them (open loop, a request's
 * clock starts when it was due). Stops after REQUESTS or SECONDS. Prints one JSON line; times in microseconds, `parts` counts
 * server-sent events or NDJSON lines, `errors` answers that were not 200 and broken connections.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, READ = 1 << 17, MOST_SAMPLES = 1 << 22 };

struct conn {
  int fd, busy, in_body, chunked;
  size_t need, head_len;
  char head[4096], tail[8];
  int64_t start, first;
};

static struct conn conns[MOST];
static char *request;
static size_t request_len;
static int64_t *totals, *firsts;
static long done, sent, errors, parts, bytes;
static char buffer[READ];

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void start(struct conn *c, int64_t due) {
  c->busy = 1, c->in_body = 0, c->head_len = 0, c->start = due, c->first = 0, c->need = 0;
  memset(c->tail, 0, sizeof c->tail);
  sent++;
  if (send(c->fd, request, request_len, MSG_NOSIGNAL) != (ssize_t)request_len) errors++, c->busy = 0;
}

static void finish(struct conn *c, int64_t t) {
  if (done < MOST_SAMPLES) totals[done] = t - c->start, firsts[done] = (c->first ? c->first : t) - c->start;
  done++, c->busy = 0;
  if (strncmp(c->head, "HTTP/1.1 200", 12)) errors++;
}

static void on_body(struct conn *c, const char *data, size_t n, int64_t t) {
  if (!n) { if (!c->chunked && !c->need) finish(c, t); return; }
  if (!c->first) c->first = t;
  bytes += (long)n;
  for (size_t i = 0; i < n; i++) /* an SSE event ends in two newlines, an NDJSON line in one: count line ends after text */
    if (data[i] == '\n' && (i ? data[i - 1] : c->tail[7]) == '}') parts++;
  if (!c->chunked) {
    c->need -= n < c->need ? n : c->need;
    c->tail[7] = data[n - 1];
    if (!c->need) finish(c, t);
    return;
  }
  size_t keep = n < 8 ? n : 8;
  memmove(c->tail, c->tail + keep, 8 - keep);
  memcpy(c->tail + 8 - keep, data + n - keep, keep);
  if (!memcmp(c->tail + 3, "0\r\n\r\n", 5)) finish(c, t);
}

static void on_data(struct conn *c, const char *data, size_t n, int64_t t) {
  if (c->in_body) { on_body(c, data, n, t); return; }
  size_t room = sizeof c->head - 1 - c->head_len, take = n < room ? n : room;
  memcpy(c->head + c->head_len, data, take);
  c->head[c->head_len + take] = 0;
  char *end = strstr(c->head, "\r\n\r\n");
  if (!end) { c->head_len += take; return; }
  size_t used = (size_t)(end + 4 - c->head) - c->head_len;
  *end = 0;
  char *field = strcasestr(c->head, "\ncontent-length:");
  c->need = field ? strtoul(field + 16, NULL, 10) : 0;
  c->chunked = !field, c->in_body = 1;
  on_body(c, data + used, n - used, t);
}

static void report(double seconds) {
  long n = done < MOST_SAMPLES ? done : MOST_SAMPLES;
  qsort(totals, (size_t)n, sizeof *totals, by_value);
  qsort(firsts, (size_t)n, sizeof *firsts, by_value);
#define AT(list, q) (n ? (double)list[(long)((double)(n - 1) * (q))] / 1000.0 : 0.0)
  printf("{\"done\":%ld,\"errors\":%ld,\"seconds\":%.6f,\"rps\":%.3f,\"parts\":%ld,\"parts_per_s\":%.3f,\"bytes\":%ld,"
         "\"p50\":%.1f,\"p99\":%.1f,\"first_p50\":%.1f,\"first_p99\":%.1f}\n",
         done, errors, seconds, (double)done / seconds, parts, (double)parts / seconds, bytes, AT(totals, 0.5), AT(totals, 0.99),
         AT(firsts, 0.5), AT(firsts, 0.99));
}

int main(int argc, char **argv) {
  if (argc != 8) { fprintf(stderr, "usage: load PORT PATH CONCURRENCY REQUESTS SECONDS RATE KEY < body\n"); return 2; }
  int port = atoi(argv[1]), width = atoi(argv[3]), one = 1;
  long limit = atol(argv[4]);
  double seconds = atof(argv[5]), rate = atof(argv[6]);
  char *body = malloc(1 << 20);
  size_t length = fread(body, 1, 1 << 20, stdin);
  request = malloc(length + 1024);
  request_len = (size_t)sprintf(request,
                                "POST %s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer %s\r\n"
                                "content-type: application/json\r\ncontent-length: %zu\r\n\r\n",
                                argv[2], port, argv[7], length);
  memcpy(request + request_len, body, length), request_len += length;
  totals = malloc(MOST_SAMPLES * sizeof *totals), firsts = malloc(MOST_SAMPLES * sizeof *firsts);
  if (width > MOST) width = MOST;
  int loop = epoll_create1(0);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (int i = 0; i < width; i++) {
    conns[i].fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(conns[i].fd, (struct sockaddr *)&a, sizeof a)) { perror("connect"); return 1; }
    setsockopt(conns[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &conns[i]};
    epoll_ctl(loop, EPOLL_CTL_ADD, conns[i].fd, &e);
  }
  int64_t begin = now(), stop = begin + (int64_t)(seconds * 1e9), gap = rate > 0 ? (int64_t)(1e9 / rate) : 0;
  struct epoll_event got[256];
  for (;;) {
    int64_t t = now();
    int may = t < stop && sent < limit, busy = 0;
    int64_t wait = 1000000000;
    for (int i = 0; i < width; i++) {
      if (!conns[i].busy && may && sent < limit) {
        int64_t due = rate > 0 ? begin + sent * gap : t;
        if (due <= t) start(&conns[i], due);
        else { wait = due - t; break; }
      }
    }
    for (int i = 0; i < width; i++) busy += conns[i].busy;
    if ((!may && !busy) || t > stop + 20000000000LL) break;
    struct timespec until = {wait / 1000000000, wait % 1000000000};
    int n = epoll_pwait2(loop, got, 256, &until, NULL);
    t = now();
    for (int i = 0; i < n; i++) {
      struct conn *c = got[i].data.ptr;
      ssize_t r = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (r < 0 && errno == EAGAIN) continue;
      if (r <= 0) {
        if (c->busy) errors++, done++;
        close(c->fd), c->busy = 0;
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(c->fd, (struct sockaddr *)&a, sizeof a)) { report((double)(now() - begin) / 1e9); return 1; }
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(loop, EPOLL_CTL_ADD, c->fd, &e);
        continue;
      }
      if (c->busy) on_data(c, buffer, (size_t)r, t);
    }
  }
  report((double)(now() - begin) / 1e9);
  return 0;
}
