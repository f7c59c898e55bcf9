/* Escapes through mounts: making, moving, changing and removing them, and other roots. */
#include "probe.h"

#include <linux/mount.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/swap.h>

/* glibc's <sys/mount.h> and <linux/mount.h> do not go together. */
int mount(const char *, const char *, const char *, unsigned long, const void *);
int umount2(const char *, int);

static int mount_tmpfs(void)
{
    return outcome(mount("none", "/srv", "tmpfs", 0, NULL));
}
static int mount_proc(void)
{
    return outcome(mount("proc", "/proc", "proc", 0, NULL));
}
static int mount_sysfs(void)
{
    return outcome(mount("sysfs", "/sys", "sysfs", 0, NULL));
}
static int mount_cgroup(void)
{
    return outcome(mount("cgroup2", "/sys", "cgroup2", 0, NULL));
}
static int mount_overlay(void)
{
    return outcome(mount("o", "/srv", "overlay", 0, "lowerdir=/bin:/etc"));
}
static int bind_mount(void)
{
    return outcome(mount("/etc", "/srv", NULL, MS_BIND, NULL));
}
static int remount_root(void)
{
    return outcome(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}
static int remount_proc_sys(void)
{
    return outcome(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL));
}
static int share_root(void)
{
    return outcome(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
}
static int unmount_proc(void)
{
    return outcome(umount2("/proc", 2));
}
static int unmask_kcore(void)
{
    return outcome(umount2("/proc/kcore", 2));
}
static int unmask_sys_kernel(void)
{
    return outcome(umount2("/sys/kernel", 2));
}
static int open_file_system(void)
{
    return outcome_of_open(syscall(SYS_fsopen, "tmpfs", 0));
}
static int pick_file_system(void)
{
    return outcome_of_open(syscall(SYS_fspick, AT_FDCWD, "/", 0));
}
static int clone_tree(void)
{
    return outcome_of_open(syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE));
}
static int open_tree(void)
{
    return outcome_of_open(syscall(SYS_open_tree, AT_FDCWD, "/", 0));
}
static int move_mount(void)
{
    return outcome(syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/srv", 0));
}
static int change_mount(void)
{
    struct mount_attr change = {.attr_clr = MOUNT_ATTR_NOSUID};

    return outcome(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &change, sizeof change));
}
static int pivot_root(void)
{
    return outcome(syscall(SYS_pivot_root, "/", "/srv"));
}
static int change_root(void)
{
    return outcome(chroot("/srv"));
}
static int file_handle(void)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = {.head = {.handle_bytes = 128}};
    int mount_id;

    return outcome(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount_id, 0));
}
static int open_by_handle(void)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = {.head = {.handle_bytes = 8, .handle_type = 1}};

    handle.bytes[0] = 2; /* The root of ext4. */
    return outcome_of_open(syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY));
}
static int set_quota(void)
{
    return outcome(quotactl(QCMD(Q_QUOTAON, USRQUOTA), "/dev/vda", 0, NULL));
}
static int swap_on(void)
{
    return outcome(swapon("/etc/passwd", 0));
}
static int swap_off(void)
{
    return outcome(swapoff("/etc/passwd"));
}
static int other_root(void)
{
    struct stat mine, theirs;

    if (stat("/", &mine) < 0 || stat("/proc/1/root/", &theirs) < 0)
        return errno;
    return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino ? NOTHING_THERE : 0;
}
static int root_above(void)
{
    struct stat mine, above;

    if (stat("/", &mine) < 0 || stat("/../../../..", &above) < 0)
        return errno;
    return mine.st_dev == above.st_dev && mine.st_ino == above.st_ino ? NOTHING_THERE : 0;
}

const struct check mount_checks[] = {
    {"cannot mount a file system", mount_tmpfs, NULL},
    {"cannot mount a second proc", mount_proc, NULL},
    {"cannot mount sysfs", mount_sysfs, NULL},
    {"cannot mount control groups", mount_cgroup, NULL},
    {"cannot mount an overlay of its own", mount_overlay, NULL},
    {"cannot bind a directory elsewhere", bind_mount, NULL},
    {"cannot change the options of its root", remount_root, NULL},
    {"cannot make /proc/sys writable", remount_proc_sys, NULL},
    {"cannot share its mounts with others", share_root, NULL},
    {"cannot unmount /proc", unmount_proc, NULL},
    {"cannot take the mask off /proc/kcore", unmask_kcore, NULL},
    {"cannot take the mask off /sys/kernel", unmask_sys_kernel, NULL},
    {"cannot open a file-system context", open_file_system, NULL},
    {"cannot pick a mounted file system for reconfiguration", pick_file_system, NULL},
    {"cannot clone a mount", clone_tree, NULL},
    {"cannot hold a mount by a descriptor", open_tree, NULL},
    {"cannot move a mount", move_mount, NULL},
    {"cannot clear a mount's flags", change_mount, NULL},
    {"cannot swap its root for another", pivot_root, NULL},
    {"cannot call chroot", change_root, NULL},
    {"cannot turn a name into a file handle", file_handle, NULL},
    {"cannot open a file of the node by its handle", open_by_handle, NULL},
    {"cannot switch quotas on", set_quota, NULL},
    {"cannot add swap space", swap_on, NULL},
    {"cannot remove swap space", swap_off, NULL},
    {"cannot reach another root through /proc/1/root", other_root, NULL},
    {"cannot climb above its root", root_above, NULL},
    {NULL, NULL, NULL},
};
