/* Escapes through the network: foreign families, raw packets, addresses, routes. */
#include "probe.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static int try_socket(int family, int kind, int protocol)
{
    return outcome_of_open(socket(family, kind, protocol));
}

#define SOCKETS(name, family, kind, protocol)      \
    static int name(void)                          \
    {                                              \
        return try_socket(family, kind, protocol); \
    }
SOCKETS(raw_ip, AF_INET, SOCK_RAW, IPPROTO_ICMP)
SOCKETS(raw_ip6, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6)
SOCKETS(ping, AF_INET, SOCK_DGRAM, IPPROTO_ICMP)
SOCKETS(packets, AF_PACKET, SOCK_RAW, 0x0300)
SOCKETS(virtual_machine, AF_VSOCK, SOCK_STREAM, 0)
SOCKETS(kernel_crypto, AF_ALG, SOCK_SEQPACKET, 0)
SOCKETS(bluetooth, AF_BLUETOOTH, SOCK_RAW, 1)
SOCKETS(can_bus, AF_CAN, SOCK_RAW, 1)
SOCKETS(key_family, AF_KEY, SOCK_RAW, 2)
SOCKETS(express_data, 44, SOCK_RAW, 0)
SOCKETS(reliable_datagrams, AF_RDS, SOCK_SEQPACKET, 0)
SOCKETS(tipc, 30, SOCK_RDM, 0)
SOCKETS(appletalk, AF_APPLETALK, SOCK_DGRAM, 0)
SOCKETS(netlink_audit, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)
SOCKETS(netlink_filter, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)
SOCKETS(netlink_events, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)
SOCKETS(netlink_generic, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC)
SOCKETS(netlink_diagnosis, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG)
SOCKETS(netlink_crypto, AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO)
SOCKETS(netlink_xfrm, AF_NETLINK, SOCK_RAW, NETLINK_XFRM)
SOCKETS(netlink_route, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)
SOCKETS(tcp, AF_INET, SOCK_STREAM, 0)
SOCKETS(local, AF_UNIX, SOCK_STREAM, 0)

static int reach(const char *address, int port)
{
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), error;

    if (descriptor < 0)
        return errno;
    inet_pton(AF_INET, address, &there.sin_addr);
    error = outcome(connect(descriptor, (struct sockaddr *)&there, sizeof there));
    close(descriptor);
    return error;
}
static int reach_metadata(void)
{
    return reach("169.254.169.254", 80);
}
static int reach_private(void)
{
    return reach("10.0.0.1", 443);
}
static int reach_cluster(void)
{
    return reach("10.96.0.1", 443);
}
static int reach_world(void)
{
    return reach("192.0.2.1", 443);
}
static int reach_node(void)
{
    return reach("127.0.0.1", 22);
}
static int reach_world6(void)
{
    struct sockaddr_in6 there = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
    int descriptor = socket(AF_INET6, SOCK_STREAM, 0), error;

    if (descriptor < 0)
        return errno;
    inet_pton(AF_INET6, "2001:db8::1", &there.sin6_addr);
    error = outcome(connect(descriptor, (struct sockaddr *)&there, sizeof there));
    close(descriptor);
    return error;
}
static int send_name_query(void)
{
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(53)};
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);

    if (descriptor < 0)
        return errno;
    inet_pton(AF_INET, "192.0.2.53", &there.sin_addr);
    return outcome(sendto(descriptor, "x", 1, 0, (struct sockaddr *)&there, sizeof there));
}
static int low_port(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(80)};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);

    if (descriptor < 0)
        return errno;
    return outcome(bind(descriptor, (struct sockaddr *)&here, sizeof here));
}
static int interface_down(void)
{
    struct ifreq asked;
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);

    if (descriptor < 0)
        return errno;
    memset(&asked, 0, sizeof asked);
    strcpy(asked.ifr_name, "lo");
    return outcome(ioctl(descriptor, SIOCSIFFLAGS, &asked));
}
static int other_interface(void)
{
    struct if_nameindex *found = if_nameindex();
    int others = 0;

    if (found == NULL)
        return errno;
    for (struct if_nameindex *one = found; one->if_index != 0; one++)
        others += strcmp(one->if_name, "lo") != 0 && strncmp(one->if_name, "sit", 3) != 0 &&
                  strncmp(one->if_name, "tunl", 4) != 0 && strncmp(one->if_name, "ip6tnl", 6) != 0;
    if_freenameindex(found);
    return others > 0 ? 0 : NOTHING_THERE;
}

/* Sends one route message and returns the kernel's answer. */
static int ask_route(uint16_t type, void *body, uint32_t length)
{
    struct {
        struct nlmsghdr head;
        char body[128];
    } message = {.head = {.nlmsg_len = NLMSG_LENGTH(length), .nlmsg_type = type,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE}};
    char answer[512];
    int descriptor = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    const struct nlmsghdr *head = (const struct nlmsghdr *)answer;

    if (descriptor < 0)
        return errno;
    memcpy(NLMSG_DATA(&message.head), body, length);
    if (send(descriptor, &message, message.head.nlmsg_len, 0) < 0 ||
        recv(descriptor, answer, sizeof answer, 0) < 0)
        return errno;
    if (head->nlmsg_type != NLMSG_ERROR)
        return 0;
    return -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
}
static int add_route(void)
{
    struct rtmsg route = {.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN,
                          .rtm_protocol = RTPROT_BOOT, .rtm_type = RTN_UNICAST};

    return ask_route(RTM_NEWROUTE, &route, sizeof route);
}
static int add_interface(void)
{
    struct ifinfomsg link = {.ifi_family = AF_UNSPEC};

    return ask_route(RTM_NEWLINK, &link, sizeof link);
}
static int add_address(void)
{
    struct ifaddrmsg address = {.ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = 1};

    return ask_route(RTM_NEWADDR, &address, sizeof address);
}

const struct check network_checks[] = {
    {"cannot send raw IP packets", raw_ip, NULL},
    {"cannot send raw IPv6 packets", raw_ip6, NULL},
    {"cannot ping", ping, NULL},
    {"cannot listen to packets of an interface", packets, NULL},
    {"cannot talk to the hypervisor", virtual_machine, NULL},
    {"cannot use the kernel's ciphers", kernel_crypto, NULL},
    {"cannot use Bluetooth", bluetooth, NULL},
    {"cannot use a CAN bus", can_bus, NULL},
    {"cannot manage IPsec keys by socket", key_family, NULL},
    {"cannot use express data paths", express_data, NULL},
    {"cannot use reliable datagram sockets", reliable_datagrams, NULL},
    {"cannot use TIPC", tipc, NULL},
    {"cannot use AppleTalk", appletalk, NULL},
    {"cannot talk to the audit system", netlink_audit, NULL},
    {"cannot talk to the packet filter", netlink_filter, NULL},
    {"cannot listen to device events", netlink_events, NULL},
    {"cannot talk generic netlink", netlink_generic, NULL},
    {"cannot list the sockets of others", netlink_diagnosis, NULL},
    {"cannot configure the kernel's ciphers", netlink_crypto, NULL},
    {"cannot configure IPsec", netlink_xfrm, NULL},
    {"cannot ask for its own interfaces and routes", netlink_route,
     "only its own empty network namespace answers, and changes are refused"},
    {"cannot make an IP socket", tcp, "there is no interface but its own loopback"},
    {"cannot make a local socket", local, "it reaches processes of the same sandbox only"},
    {"cannot reach the metadata service", reach_metadata, NULL},
    {"cannot reach a private network", reach_private, NULL},
    {"cannot reach a cluster's API", reach_cluster, NULL},
    {"cannot reach the world", reach_world, NULL},
    {"cannot reach the world by IPv6", reach_world6, NULL},
    {"cannot reach the node by its loopback", reach_node, NULL},
    {"cannot send a name query", send_name_query, NULL},
    {"cannot listen on a port of the system", low_port,
     "it listens in its own network namespace, which nothing outside reaches"},
    {"cannot change an interface", interface_down, NULL},
    {"cannot find an interface but its loopback", other_interface, NULL},
    {"cannot add a route", add_route, NULL},
    {"cannot add an interface", add_interface, NULL},
    {"cannot add an address", add_address, NULL},
    {NULL, NULL, NULL},
};
