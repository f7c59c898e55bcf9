"""What the Pod Security Standards refuse, computed from manifests (baseline and restricted, v1.32).

Each violation names the strictest level that would still allow it: `baseline` where only
"restricted" objects, `privileged` where "baseline" does too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Manifest = Mapping[str, Any]

_VOLUMES = frozenset(
    """configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected
    secret""".split()
)
_ADDABLE = frozenset(
    """AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID
    SETPCAP SETUID SYS_CHROOT""".split()
)
_SELINUX = frozenset(
    {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
)
_SYSCTLS = frozenset(
    """kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.ip_unprivileged_port_start
    net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_local_reserved_ports
    net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl
    net.ipv4.tcp_keepalive_probes net.ipv4.tcp_rmem net.ipv4.tcp_wmem""".split()
)
_PROFILES = frozenset({"RuntimeDefault", "Localhost"})
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
UNSET = "unset"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Violation:
    """One field that a level refuses. `container` is "" where the pod is meant."""

    namespace: str
    workload: str
    container: str
    field: str
    value: str
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A violation before it is known where it stands."""

    field: str
    value: object
    level: str
    container: str = ""


def pod_of(manifest: Manifest) -> Manifest | None:
    """The pod that a workload makes; None for what makes none."""
    spec = manifest.get("spec", {})
    match manifest["kind"]:
        case "Pod":
            return spec  # type: ignore[no-any-return]
        case "CronJob":
            return spec["jobTemplate"]["spec"]["template"]["spec"]  # type: ignore[no-any-return]
        case "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "Job":
            return spec["template"]["spec"]  # type: ignore[no-any-return]
    return None


def containers_of(pod: Manifest) -> Sequence[Manifest]:
    """Containers of all three kinds."""
    return [container for kind in _CONTAINERS for container in pod.get(kind, [])]


def find_violations(manifests: Sequence[Manifest]) -> frozenset[Violation]:
    """Everything that `restricted` refuses in these manifests."""
    return frozenset(
        Violation(
            namespace=manifest["metadata"].get("namespace", ""),
            workload=f"{manifest['kind']}/{manifest['metadata']['name']}",
            container=found.container,
            field=found.field,
            value=_spell(found.value),
            level=found.level,
        )
        for manifest in manifests
        if (pod := pod_of(manifest)) is not None
        for found in _judge_pod(pod)
    )


def _spell(value: object) -> str:
    if value is None:
        return UNSET
    return str(value).lower() if isinstance(value, bool) else str(value)


def _judge_pod(pod: Manifest) -> Iterator[Found]:
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield Found(field=name, value=True, level="privileged")
    yield from _judge_volumes(pod)
    context = pod.get("securityContext", {})
    yield from _judge_shared(context, "")
    for item in context.get("sysctls", []):
        if item["name"] not in _SYSCTLS:
            yield Found(field="securityContext.sysctls", value=item["name"], level="privileged")
    for container in containers_of(pod):
        yield from _judge_container(container, context)


def _judge_volumes(pod: Manifest) -> Iterator[Found]:
    for volume in pod.get("volumes", []):
        for kind in set(volume) - {"name"} - _VOLUMES:
            is_host = kind == "hostPath"
            yield Found(
                field=f"volumes.{volume['name']}.{kind}",
                value=volume[kind]["path"] if is_host else kind,
                level="privileged" if is_host else "baseline",
            )


def _judge_shared(context: Manifest, container: str) -> Iterator[Found]:
    """What pod and container may both say; left out is judged by `_judge_container`."""

    def found(field: str, value: object, level: str) -> Found:
        return Found(
            field=f"securityContext.{field}", value=value, level=level, container=container
        )

    if context.get("runAsUser") == 0:
        yield found("runAsUser", 0, "baseline")
    if context.get("runAsNonRoot") is False:
        yield found("runAsNonRoot", value=False, level="baseline")
    seccomp = context.get("seccompProfile", {}).get("type")
    if seccomp is not None and seccomp not in _PROFILES:
        yield found("seccompProfile.type", seccomp, "privileged")
    armour = context.get("appArmorProfile", {}).get("type")
    if armour is not None and armour not in _PROFILES:
        yield found("appArmorProfile.type", armour, "privileged")
    labels = context.get("seLinuxOptions", {})
    if labels.get("type", "") not in _SELINUX or labels.get("user") or labels.get("role"):
        yield found("seLinuxOptions", sorted(labels.items()), "privileged")
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield found("windowsOptions.hostProcess", value=True, level="privileged")


def _judge_container(container: Manifest, pod_context: Manifest) -> Iterator[Found]:
    name = container["name"]
    context = container.get("securityContext", {})

    def found(field: str, value: object, level: str) -> Found:
        return Found(field=field, value=value, level=level, container=name)

    yield from _judge_shared(context, name)
    if context.get("privileged"):
        yield found("securityContext.privileged", value=True, level="privileged")
    if context.get("allowPrivilegeEscalation") is not False:
        value = context.get("allowPrivilegeEscalation")
        yield found("securityContext.allowPrivilegeEscalation", value, "baseline")
    if context.get("procMount", "Default") != "Default":
        yield found("securityContext.procMount", context["procMount"], "privileged")
    yield from _judge_capabilities(context.get("capabilities", {}), name)
    if context.get("runAsNonRoot", pod_context.get("runAsNonRoot")) is None:
        yield found("securityContext.runAsNonRoot", None, "baseline")
    seccomp = context.get("seccompProfile", pod_context.get("seccompProfile", {}))
    if not seccomp.get("type"):
        yield found("securityContext.seccompProfile.type", None, "baseline")
    for port in container.get("ports", []):
        if port.get("hostPort"):
            yield found("ports.hostPort", port["hostPort"], "privileged")
    yield from _judge_hosts(container)


def _judge_capabilities(capabilities: Manifest, container: str) -> Iterator[Found]:
    prefix = "securityContext.capabilities"
    if "ALL" not in capabilities.get("drop", []):
        value = capabilities.get("drop")
        yield Found(field=f"{prefix}.drop", value=value, level="baseline", container=container)
    for name in capabilities.get("add", []):
        if name != "NET_BIND_SERVICE":
            level = "baseline" if name in _ADDABLE else "privileged"
            yield Found(field=f"{prefix}.add", value=name, level=level, container=container)


def _judge_hosts(container: Manifest) -> Iterator[Found]:
    """A probe or hook that asks another host (refused since v1.34)."""
    lifecycle = container.get("lifecycle", {})
    hooks = {f"lifecycle.{name}": hook for name, hook in lifecycle.items()}
    probes = {name: container[name] for name in container if name.endswith("Probe")}
    for place, hook in {**probes, **hooks}.items():
        for kind in ("httpGet", "tcpSocket"):
            host = hook.get(kind, {}).get("host")
            if host:
                yield Found(
                    field=f"{place}.{kind}.host",
                    value=host,
                    level="privileged",
                    container=container["name"],
                )
