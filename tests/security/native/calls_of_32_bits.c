/* Calls the kernel as 32-bit programs on x86-64 do, and by the numbers of x32. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call(long number, long first, long second, long third) {
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
    return answer;
}

int main(int count, char **arguments) {
    int pid = count > 1 ? atoi(arguments[1]) : 1;
    if (call(97, 0, pid, 1) != -EPERM && call(97, 0, pid, 1) != -ENOSYS) return 1; /* setpriority */
    if (syscall(0x40000000 + SYS_setpriority, 0, pid, 1) != -1) return 2;
    if (syscall(SYS_setpriority, 0, pid, 1) != -1 || errno != EPERM) return 3;
    if (syscall(SYS_setpriority, 0, 1L << 32, 1) != 0) return 4; /* the kernel drops the upper half */
    return syscall(SYS_setpriority, 0, (1L << 32) + pid, 1) == -1 ? 0 : 5;
}
