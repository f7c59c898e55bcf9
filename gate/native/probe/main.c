/* The escape probe. Prints one line for each check: verdict, errno, sentence, reason; tabs between.
 *
 * open: it could be done.  allowed: it could, and that is harmless for the reason given.
 * blocked: it could not.   crashed: the check itself died, so nothing is known. */
#include "probe.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { WITHIN_S = 5, NOT_KNOWN = -1 };

static const struct check *const groups[] = {
    mount_checks,   namespace_checks, device_checks, kernel_checks,
    process_checks, network_checks,   proc_checks,   file_checks,
};

/* Runs one attempt in a child. Returns its errno, 0, NOTHING_THERE or NOT_KNOWN. */
static int attempt_apart(const struct check *check)
{
    int ends[2], result = NOT_KNOWN, status;
    pid_t child;

    if (pipe(ends) < 0)
        return NOT_KNOWN;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        signal(SIGALRM, SIG_DFL);
        alarm(WITHIN_S);
        result = check->attempt();
        _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &result, sizeof result) != sizeof result)
        result = NOT_KNOWN;
    close(ends[0]);
    if (child > 0 && waitpid(child, &status, 0) == child && result == NOT_KNOWN &&
        WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV))
        return EPERM; /* The kernel ended the attempt itself: a refused instruction or call. */
    return result;
}

static void report(const struct check *check)
{
    int result = attempt_apart(check);
    const char *verdict = "blocked";
    const char *word = result == NOTHING_THERE ? "NOTHING" : result > 0 ? strerrorname_np(result) : "-";

    if (result == NOT_KNOWN)
        verdict = "crashed";
    else if (result == 0)
        verdict = check->harmless_because != NULL ? "allowed" : "open";
    printf("%s\t%s\t%s\t%s\n", verdict, word != NULL ? word : "?", check->sentence,
           check->harmless_because != NULL ? check->harmless_because : "");
}

int main(void)
{
    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++)
        for (const struct check *check = groups[group]; check->sentence != NULL; check++)
            report(check);
    return 0;
}
