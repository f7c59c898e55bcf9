/* Makes the system calls named on standard input, one line each: NUMBER A B C D E. Prints for each
 * the errno, 0 when the kernel did it. A child makes each, so that none can end the next. */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    long n, a, b, c, d, e;

    while (scanf("%ld %ld %ld %ld %ld %ld", &n, &a, &b, &c, &d, &e) == 6) {
        int found[2], status = -1;
        pid_t child;
        if (pipe(found) < 0)
            return 1;
        child = fork();
        if (child == 0) {
            long parent = getpid(), result = syscall(n, a, b, c, d, e);
            int error = result == -1 ? errno : 0;
            if (getpid() == parent && write(found[1], &error, sizeof error) < 0)
                _exit(1);
            _exit(0);
        }
        close(found[1]);
        if (read(found[0], &status, sizeof status) != sizeof status)
            status = -1;
        close(found[0]);
        waitpid(child, NULL, 0);
        printf("%d\n", status);
    }
    return 0;
}
