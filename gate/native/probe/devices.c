/* Escapes through devices: making nodes, opening the node's, and taking over the ones lent. */
#include "probe.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int make_block(void)
{
    return outcome(mknod("/srv/probe-block", S_IFBLK | 0600, makedev(7, 0)));
}
static int make_character(void)
{
    return outcome(mknod("/srv/probe-character", S_IFCHR | 0600, makedev(1, 1)));
}
static int make_null(void)
{
    return outcome(mknod("/srv/probe-null", S_IFCHR | 0600, makedev(1, 3)));
}
static int make_whiteout(void)
{
    return outcome(mknod("/srv/probe-whiteout", S_IFCHR | 0600, makedev(0, 0)));
}
static int make_fifo(void)
{
    int error = outcome(mkfifo("/srv/probe-fifo", 0600));

    unlink("/srv/probe-fifo");
    return error;
}

#define OPENS(name, path)              \
    static int name(void)              \
    {                                  \
        return try_open(path, O_RDWR); \
    }
OPENS(open_mem, "/dev/mem")
OPENS(open_kmem, "/dev/kmem")
OPENS(open_port, "/dev/port")
OPENS(open_kmsg, "/dev/kmsg")
OPENS(open_vda, "/dev/vda")
OPENS(open_sda, "/dev/sda")
OPENS(open_loop, "/dev/loop0")
OPENS(open_loop_control, "/dev/loop-control")
OPENS(open_fuse, "/dev/fuse")
OPENS(open_kvm, "/dev/kvm")
OPENS(open_tun, "/dev/net/tun")
OPENS(open_console, "/dev/console")
OPENS(open_mapper, "/dev/mapper/control")
OPENS(open_cpu, "/dev/cpu/0/msr")
OPENS(open_input, "/dev/input/event0")
OPENS(open_uinput, "/dev/uinput")
OPENS(open_vhost, "/dev/vhost-net")
OPENS(open_autofs, "/dev/autofs")
OPENS(open_userfault, "/dev/userfaultfd")

static int chmod_null(void)
{
    return outcome(chmod("/dev/null", 0600));
}
static int chown_null(void)
{
    return outcome(chown("/dev/null", 1, 1));
}
static int write_init(void)
{
    return try_open("/dev/init", O_WRONLY);
}
static int write_files(void)
{
    return try_open("/dev/files", O_WRONLY);
}
static int remove_init(void)
{
    return outcome(unlink("/dev/init"));
}
static int push_input(void)
{
    char letter = 'x';

    return outcome(ioctl(0, TIOCSTI, &letter));
}
static int paste_selection(void)
{
    char command = 3;

    return outcome(ioctl(0, TIOCLINUX, &command));
}

const struct check device_checks[] = {
    {"cannot make a block device node", make_block, NULL},
    {"cannot make a character device node", make_character, NULL},
    {"cannot make even a null device node", make_null, NULL},
    {"cannot forge a whiteout", make_whiteout, NULL},
    {"cannot make a FIFO", make_fifo, "a FIFO connects processes of the same sandbox only"},
    {"cannot open the memory of the node", open_mem, NULL},
    {"cannot open the memory of the kernel", open_kmem, NULL},
    {"cannot open the I/O ports", open_port, NULL},
    {"cannot open the kernel's log device", open_kmsg, NULL},
    {"cannot open the node's first virtual disk", open_vda, NULL},
    {"cannot open the node's first disk", open_sda, NULL},
    {"cannot open a loop device", open_loop, NULL},
    {"cannot make loop devices", open_loop_control, NULL},
    {"cannot serve a FUSE file system", open_fuse, NULL},
    {"cannot make virtual machines", open_kvm, NULL},
    {"cannot make tunnel devices", open_tun, NULL},
    {"cannot open the node's console", open_console, NULL},
    {"cannot control the device mapper", open_mapper, NULL},
    {"cannot open the processor's registers", open_cpu, NULL},
    {"cannot read the node's keyboard", open_input, NULL},
    {"cannot inject input devices", open_uinput, NULL},
    {"cannot open a vhost device", open_vhost, NULL},
    {"cannot control automounts", open_autofs, NULL},
    {"cannot open the page-fault device", open_userfault, NULL},
    {"cannot change the mode of /dev/null", chmod_null, NULL},
    {"cannot take /dev/null over", chown_null, NULL},
    {"cannot write to the init program", write_init, NULL},
    {"cannot write to the file program", write_files, NULL},
    {"cannot remove the init program", remove_init, NULL},
    {"cannot push input into a terminal", push_input, NULL},
    {"cannot paste a console selection", paste_selection, NULL},
    {NULL, NULL, NULL},
};
