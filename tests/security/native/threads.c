/* Starts threads that are pinned, as OpenMP and engines of environments do. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>

static void *nothing(void *unused) { return unused; }

int main(void) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof first, &first);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, nothing, 0) || pthread_join(thread, 0)) return 1;
    if (pthread_setaffinity_np(pthread_self(), sizeof first, &first)) return 2;
    int count = 0;
#pragma omp parallel num_threads(2) reduction(+ : count)
    count += 1;
    return count == 2 ? 0 : 3;
}
