/* Escapes through the kernel's own doors: modules, programs in it, clocks, keys, memory calls. */
#include "probe.h"

#include <linux/io_uring.h>
#include <linux/kexec.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

static int load_module(void)
{
    return outcome(syscall(SYS_init_module, "", 0UL, ""));
}
static int load_module_file(void)
{
    return outcome(syscall(SYS_finit_module, 0, "", 0));
}
static int unload_module(void)
{
    return outcome(syscall(SYS_delete_module, "probe", O_NONBLOCK));
}
static int load_kernel(void)
{
    return outcome(syscall(SYS_kexec_load, 0UL, 0UL, NULL, 0UL));
}
static int load_kernel_file(void)
{
    return outcome(syscall(SYS_kexec_file_load, -1, -1, 0UL, "", 0UL));
}
static int restart(void)
{
    /* Only forbids the key combination; with the right it would be harmless, too. */
    return outcome(syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
                           LINUX_REBOOT_CMD_CAD_OFF, NULL));
}
static int make_bpf_map(void)
{
    struct {
        uint32_t type, key_size, value_size, entries, flags;
        char rest[96];
    } asked = {.type = 2, .key_size = 4, .value_size = 4, .entries = 1};

    return outcome_of_open(syscall(SYS_bpf, 0, &asked, sizeof asked));
}
static int load_bpf_program(void)
{
    char asked[120] = {1};

    return outcome_of_open(syscall(SYS_bpf, 5, &asked, sizeof asked));
}
static int watch_performance(void)
{
    struct perf_event_attr asked = {.type = PERF_TYPE_SOFTWARE, .size = sizeof asked,
                                    .exclude_kernel = 1};

    return outcome_of_open(syscall(SYS_perf_event_open, &asked, 0, -1, -1, 0));
}
static int page_faults(void)
{
    return outcome_of_open(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */));
}
static int io_ring(void)
{
    struct io_uring_params asked;

    memset(&asked, 0, sizeof asked);
    return outcome_of_open(syscall(SYS_io_uring_setup, 4, &asked));
}
static int io_ring_register(void)
{
    return outcome(syscall(SYS_io_uring_register, -1, 8, NULL, 0));
}
static int add_key(void)
{
    return outcome(syscall(SYS_add_key, "user", "probe", "x", 1UL, KEY_SPEC_PROCESS_KEYRING));
}
static int session_keyring(void)
{
    return outcome(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
}
static int request_key(void)
{
    return outcome(syscall(SYS_request_key, "user", "probe", NULL, 0));
}
static int read_log(void)
{
    char line[64];

    return outcome(syscall(SYS_syslog, 3, line, sizeof line));
}
static int account_processes(void)
{
    return outcome(syscall(SYS_acct, "/srv/probe-acct"));
}
static int set_time(void)
{
    struct timeval now;

    gettimeofday(&now, NULL);
    return outcome(settimeofday(&now, NULL));
}
static int set_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return outcome(clock_settime(CLOCK_REALTIME, &now));
}
static int tune_clock(void)
{
    struct timex change = {.modes = ADJ_FREQUENCY};

    return outcome(syscall(SYS_adjtimex, &change));
}
static int tune_one_clock(void)
{
    struct timex change = {.modes = ADJ_FREQUENCY};

    return outcome(syscall(SYS_clock_adjtime, CLOCK_REALTIME, &change));
}
static int watch_everything(void)
{
    return outcome_of_open(syscall(SYS_fanotify_init, 0, O_RDONLY));
}
static int no_random_layout(void)
{
    return outcome(syscall(SYS_personality, ADDR_NO_RANDOMIZE));
}
static int read_implies_exec(void)
{
    return outcome(syscall(SYS_personality, READ_IMPLIES_EXEC));
}
static int bind_memory(void)
{
    return outcome(syscall(SYS_mbind, 0UL, 0UL, 0, NULL, 0UL, 0));
}
static int memory_policy(void)
{
    return outcome(syscall(SYS_set_mempolicy, 0, NULL, 0UL));
}
static int move_pages_call(void)
{
    return outcome(syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0));
}
static int secret_memory(void)
{
    return outcome_of_open(syscall(447 /* memfd_secret */, 0));
}
static int listen_to_mounts(void)
{
    return outcome(syscall(458 /* listmount */, NULL, NULL, 0UL, 0));
}
static int hang_up(void)
{
    return outcome(syscall(SYS_vhangup));
}
static int big_pages(void)
{
    void *found = mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

    return found == MAP_FAILED ? errno : 0;
}
static int map_page_zero(void)
{
    void *found = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    return found == MAP_FAILED ? errno : 0;
}
static int memory_file(void)
{
    return outcome_of_open(memfd_create("probe", 0));
}

#ifdef __x86_64__
static int port_level(void)
{
    return outcome(syscall(SYS_iopl, 3));
}
static int port_access(void)
{
    return outcome(syscall(SYS_ioperm, 0x60UL, 1UL, 1));
}
static int segment_table(void)
{
    char found[16];

    return outcome(syscall(SYS_modify_ldt, 0, found, sizeof found));
}
static int wide_calls(void)
{
    return outcome(syscall(0x40000000L | SYS_getpid));
}
static int old_calls(void)
{
    long result;

    /* getpid by the 32-bit door: other numbers, so a second way into the kernel. */
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "cc");
    return result < 0 ? (int)-result : 0;
}
#endif

const struct check kernel_checks[] = {
    {"cannot load a kernel module", load_module, NULL},
    {"cannot load a kernel module from a file", load_module_file, NULL},
    {"cannot unload a kernel module", unload_module, NULL},
    {"cannot load another kernel", load_kernel, NULL},
    {"cannot load another kernel from a file", load_kernel_file, NULL},
    {"cannot restart the node", restart, NULL},
    {"cannot make a BPF map", make_bpf_map, NULL},
    {"cannot load a BPF program", load_bpf_program, NULL},
    {"cannot open performance counters", watch_performance, NULL},
    {"cannot handle its own page faults", page_faults, NULL},
    {"cannot set up io_uring", io_ring, NULL},
    {"cannot register with io_uring", io_ring_register, NULL},
    {"cannot add a key to the kernel", add_key, NULL},
    {"cannot use a keyring", session_keyring, NULL},
    {"cannot request a key", request_key, NULL},
    {"cannot read the kernel's log", read_log, NULL},
    {"cannot switch process accounting on", account_processes, NULL},
    {"cannot set the time of day", set_time, NULL},
    {"cannot set a clock", set_clock, NULL},
    {"cannot tune the clock", tune_clock, NULL},
    {"cannot tune a chosen clock", tune_one_clock, NULL},
    {"cannot watch all file accesses", watch_everything, NULL},
    {"cannot switch address randomisation off", no_random_layout, NULL},
    {"cannot make readable memory executable", read_implies_exec, NULL},
    {"cannot bind memory to a node", bind_memory, NULL},
    {"cannot set a memory policy", memory_policy, NULL},
    {"cannot move pages", move_pages_call, NULL},
    {"cannot hide memory from the kernel", secret_memory, NULL},
    {"cannot list mounts by number", listen_to_mounts, NULL},
    {"cannot hang up terminals", hang_up, NULL},
    {"cannot take huge pages", big_pages, NULL},
    {"cannot map page zero", map_page_zero, NULL},
    {"cannot make a file in memory", memory_file, "its pages count against the memory limit"},
#ifdef __x86_64__
    {"cannot raise its I/O privilege level", port_level, NULL},
    {"cannot get access to I/O ports", port_access, NULL},
    {"cannot read or change its segment table", segment_table, NULL},
    {"cannot use the x32 system calls", wide_calls, NULL},
    {"cannot use the 32-bit system calls", old_calls, NULL},
#endif
    {NULL, NULL, NULL},
};
