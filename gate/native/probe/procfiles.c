/* Escapes through /proc and /sys: switches that act on the whole node, and what they tell. */
#include "probe.h"

#include <dirent.h>

#define WRITES(name, path, word)                         \
    static int name(void)                                \
    {                                                    \
        return try_write(path, word, sizeof(word) - 1);  \
    }
#define READS(name, path)      \
    static int name(void)      \
    {                          \
        return try_read(path); \
    }
WRITES(sysrq, "/proc/sysrq-trigger", "?")
WRITES(core_pattern, "/proc/sys/kernel/core_pattern", "|/bin/false")
WRITES(modprobe_path, "/proc/sys/kernel/modprobe", "/bin/false")
WRITES(panic, "/proc/sys/kernel/panic", "1")
WRITES(host_name, "/proc/sys/kernel/hostname", "probe")
WRITES(drop_caches, "/proc/sys/vm/drop_caches", "1")
WRITES(overcommit, "/proc/sys/vm/overcommit_memory", "1")
WRITES(file_max, "/proc/sys/fs/file-max", "100")
WRITES(binary_formats, "/proc/sys/fs/binfmt_misc/register", ":probe:M::\\x7f::/bin/false:")
WRITES(forwarding, "/proc/sys/net/ipv4/ip_forward", "1")
WRITES(ping_range, "/proc/sys/net/ipv4/ping_group_range", "0 65535")
WRITES(interrupts, "/proc/irq/default_smp_affinity", "1")
WRITES(uevent, "/sys/kernel/uevent_helper", "/bin/false")
WRITES(power, "/sys/power/state", "mem")
WRITES(memory_blocks, "/sys/devices/system/cpu/cpu1/online", "0")
WRITES(disk_queue, "/sys/block/vda/queue/read_ahead_kb", "128")
WRITES(rescan, "/sys/bus/pci/rescan", "1")
WRITES(release_agent, "/sys/fs/cgroup/release_agent", "/bin/false")
WRITES(cgroup_procs, "/sys/fs/cgroup/cgroup.procs", "0")
WRITES(login_id, "/proc/1/loginuid", "0")
READS(kcore, "/proc/kcore")
READS(kallsyms, "/proc/kallsyms")
READS(keys, "/proc/keys")
READS(kmsg, "/proc/kmsg")
READS(page_flags, "/proc/kpageflags")
READS(page_counts, "/proc/kpagecount")
READS(timers, "/proc/timer_list")
READS(slabs, "/proc/slabinfo")
READS(allocations, "/proc/vmallocinfo")
READS(modules, "/proc/modules")
READS(scheduler, "/proc/sched_debug")
READS(kernel_stack, "/proc/1/stack")
READS(notes, "/sys/kernel/notes")

/* A directory that must look empty. */
static int try_list(const char *path)
{
    struct dirent *entry;
    DIR *directory = opendir(path);
    int found = 0;

    if (directory == NULL)
        return errno;
    while ((entry = readdir(directory)) != NULL)
        found += entry->d_name[0] != '.';
    closedir(directory);
    return found > 0 ? 0 : NOTHING_THERE;
}
static int list_firmware(void)
{
    return try_list("/sys/firmware");
}
static int list_kernel(void)
{
    return try_list("/sys/kernel");
}
static int list_cgroups(void)
{
    return try_list("/sys/fs/cgroup");
}
static int list_acpi(void)
{
    return try_list("/proc/acpi");
}

const struct check proc_checks[] = {
    {"cannot pull the emergency keys", sysrq, NULL},
    {"cannot choose what handles core files", core_pattern, NULL},
    {"cannot choose what loads modules", modprobe_path, NULL},
    {"cannot change what the kernel does in a panic", panic, NULL},
    {"cannot write the host name", host_name, NULL},
    {"cannot drop the node's caches", drop_caches, NULL},
    {"cannot change how memory is promised", overcommit, NULL},
    {"cannot change how many files the node opens", file_max, NULL},
    {"cannot register a program format", binary_formats, NULL},
    {"cannot switch packet forwarding on", forwarding, NULL},
    {"cannot allow pings", ping_range, NULL},
    {"cannot steer interrupts", interrupts, NULL},
    {"cannot choose what handles device events", uevent, NULL},
    {"cannot send the node to sleep", power, NULL},
    {"cannot take a processor offline", memory_blocks, NULL},
    {"cannot tune the node's disk", disk_queue, NULL},
    {"cannot rescan the node's buses", rescan, NULL},
    {"cannot set a release agent", release_agent, NULL},
    {"cannot move itself out of its control group", cgroup_procs, NULL},
    {"cannot change a login id", login_id, NULL},
    {"cannot read the kernel's memory image", kcore, NULL},
    {"cannot read kernel addresses", kallsyms, NULL},
    {"cannot list kernel keys", keys, NULL},
    {"cannot read kernel messages in /proc", kmsg, NULL},
    {"cannot read page flags", page_flags, NULL},
    {"cannot read page counts", page_counts, NULL},
    {"cannot read the kernel's timers", timers, NULL},
    {"cannot read slab statistics", slabs, NULL},
    {"cannot read kernel allocations", allocations, NULL},
    {"cannot list kernel modules", modules, NULL},
    {"cannot read the scheduler's state", scheduler, NULL},
    {"cannot read a kernel stack", kernel_stack, NULL},
    {"cannot read the kernel's build notes", notes, NULL},
    {"cannot look into the firmware", list_firmware, NULL},
    {"cannot look into /sys/kernel", list_kernel, NULL},
    {"cannot see control groups", list_cgroups, NULL},
    {"cannot look into ACPI", list_acpi, NULL},
    {NULL, NULL, NULL},
};
