/* Escapes through files: forged overlay state, foreign owners, ioctls on the file system below. */
#include "probe.h"

#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static const char *const own = "/srv/probe-file";

/* A file of our own; what is tried on it harms nothing. */
static int own_file(void)
{
    return open(own, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}
static int try_attribute(const char *name, const void *value, size_t length)
{
    int file = own_file();

    return file < 0 ? errno : outcome(fsetxattr(file, name, value, length, 0));
}
static int overlay_redirect(void)
{
    return try_attribute("trusted.overlay.redirect", "/etc", 4);
}
static int overlay_opaque(void)
{
    return try_attribute("trusted.overlay.opaque", "y", 1);
}
static int overlay_metacopy(void)
{
    return try_attribute("trusted.overlay.metacopy", "", 0);
}
static int trusted_attribute(void)
{
    return try_attribute("trusted.probe", "x", 1);
}
static int file_capability(void)
{
    static const uint32_t all[5] = {0x02000001, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};

    return try_attribute("security.capability", all, sizeof all);
}
static int security_label(void)
{
    return try_attribute("security.selinux", "probe", 6);
}
static int integrity_attribute(void)
{
    return try_attribute("security.ima", "probe", 6);
}
static int user_attribute(void)
{
    return try_attribute("user.probe", "x", 1);
}
static int read_overlay_state(void)
{
    char value[16];

    return outcome(getxattr("/", "trusted.overlay.origin", value, sizeof value));
}
static int give_away(void)
{
    int file = own_file();

    return file < 0 ? errno : outcome(fchown(file, 70000, 70000));
}
static int set_user_id(void)
{
    int file = own_file();

    return file < 0 ? errno : outcome(fchmod(file, 04755));
}
static int immutable(void)
{
    int file = own_file(), flags = FS_IMMUTABLE_FL;

    return file < 0 ? errno : outcome(ioctl(file, FS_IOC_SETFLAGS, &flags));
}
static int append_only(void)
{
    int file = own_file(), flags = FS_APPEND_FL;

    return file < 0 ? errno : outcome(ioctl(file, FS_IOC_SETFLAGS, &flags));
}
static int project(void)
{
    struct fsxattr change = {.fsx_projid = 7};
    int file = own_file();

    return file < 0 ? errno : outcome(ioctl(file, FS_IOC_FSSETXATTR, &change));
}

/* An ioctl on the root directory, where a file system takes the ones that concern all of it. */
static int try_on_root(unsigned long request, void *argument)
{
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return root < 0 ? errno : outcome(ioctl(root, request, argument));
}
static int freeze(void)
{
    int level = 0, error = try_on_root(FIFREEZE, &level);

    if (error == 0)
        try_on_root(FITHAW, &level);
    return error;
}
static int shut_down(void)
{
    uint32_t no_log = 2;

    return try_on_root(0x8004587d /* XFS_IOC_GOINGDOWN */, &no_log);
}
static int trim(void)
{
    struct fstrim_range all = {.len = UINT64_MAX};

    return try_on_root(FITRIM, &all);
}
static int grow(void)
{
    struct {
        uint64_t blocks;
        uint32_t percent;
    } asked = {1 << 20, 25};

    return try_on_root(0x4010586e /* XFS_IOC_FSGROWFSDATA */, &asked);
}
static int by_number(void)
{
    char request[64] = {0};

    return try_on_root(0xc0205865 /* XFS_IOC_FSBULKSTAT */, request);
}
static int disk_blocks(void)
{
    int file = own_file(), block = 0;

    return file < 0 ? errno : outcome(ioctl(file, FIBMAP, &block));
}
static int beyond_links(void)
{
    return outcome(link("/proc/self/exe", "/srv/probe-link"));
}
static int write_image_program(void)
{
    int file = open("/proc/1/exe", O_WRONLY | O_CLOEXEC);

    return outcome_of_open(file);
}

const struct check file_checks[] = {
    {"cannot forge an overlay redirect", overlay_redirect, NULL},
    {"cannot forge an opaque directory", overlay_opaque, NULL},
    {"cannot forge an overlay copy", overlay_metacopy, NULL},
    {"cannot set a trusted attribute", trusted_attribute, NULL},
    {"cannot give a file capabilities", file_capability, NULL},
    {"cannot set a security label", security_label,
     "any owner may while the node has no SELinux policy, and then a label means nothing"},
    {"cannot set an integrity attribute", integrity_attribute, NULL},
    {"cannot read the overlay's own attributes", read_overlay_state, NULL},
    {"cannot set a user attribute", user_attribute,
     "it lies on the sandbox's own disk and has no meaning to the kernel"},
    {"cannot give a file to a user outside its range", give_away, NULL},
    {"cannot set the set-user-id bit", set_user_id,
     "the root is mounted nosuid and new privileges are off: the bit has no effect"},
    {"cannot make a file immutable", immutable, NULL},
    {"cannot make a file append-only", append_only, NULL},
    {"cannot change a file's quota project", project, NULL},
    {"cannot freeze the file system", freeze, NULL},
    {"cannot shut the file system down", shut_down, NULL},
    {"cannot trim the disk", trim, NULL},
    {"cannot grow the file system", grow, NULL},
    {"cannot list the disk's inodes by number", by_number, NULL},
    {"cannot learn where a file lies on the disk", disk_blocks, NULL},
    {"cannot link a file from another file system", beyond_links, NULL},
    {"cannot write to the program of its init process", write_image_program, NULL},
    {NULL, NULL, NULL},
};
