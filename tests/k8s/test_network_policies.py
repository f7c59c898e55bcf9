"""Network policies: nothing in and out, but for exactly these ways."""

import ipaddress
from collections.abc import Iterator, Sequence

from tests.k8s.conftest import Find
from tests.k8s.pod_security import Manifest, containers_of, pod_of

WAYS_OF_THE_SERVICE = {
    "in namespace(perlica/monitoring=true) TCP/health",
    "in namespace(perlica/console-proxy=true) TCP/console",
    "out namespace(kubernetes.io/metadata.name=kube-system) pod(k8s-app=kube-dns) UDP/53",
    "out namespace(kubernetes.io/metadata.name=kube-system) pod(k8s-app=kube-dns) TCP/53",
    "out namespace(kubernetes.io/metadata.name=napcat) pod(app.kubernetes.io/name=napcat) TCP/3001",
    "out 0.0.0.0/0 TCP/443",
    "out 2000::/3 TCP/443",
}
NEVER = (
    "10.0.0.1",
    "172.20.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "127.0.0.1",
    "100.64.0.1",
    "fd00::1",
    "fe80::1",
    "::1",
)


def policies(rendered: Sequence[Manifest]) -> list[Manifest]:
    return [it for it in rendered if it["kind"] == "NetworkPolicy"]


def ways(policy: Manifest) -> Iterator[str]:
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for rule in policy["spec"].get(direction, []):
            for peer in rule[side]:
                for port in rule["ports"]:
                    where = f"{port['protocol']}/{port['port']}"
                    yield f"{'in' if side == 'from' else 'out'} {spell(peer)} {where}"


def spell(peer: Manifest) -> str:
    if "ipBlock" in peer:
        return str(peer["ipBlock"]["cidr"])
    words = []
    for key in ("namespaceSelector", "podSelector"):
        if key in peer:
            ((label, value),) = peer[key]["matchLabels"].items()
            words.append(f"{key.removesuffix('Selector')}({label}={value})")
    return " ".join(words)


def test_every_namespace_denies_by_default(rendered: Sequence[Manifest]) -> None:
    closed = {
        it["metadata"]["namespace"]
        for it in policies(rendered)
        if it["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    }

    assert closed == {it["metadata"]["name"] for it in rendered if it["kind"] == "Namespace"}


def test_the_service_has_these_ways_and_no_other(find: Find) -> None:
    assert set(ways(find("NetworkPolicy", "perlica"))) == WAYS_OF_THE_SERVICE


def test_no_other_policy_opens_anything(rendered: Sequence[Manifest]) -> None:
    openers = {it["metadata"]["name"] for it in policies(rendered) if list(ways(it))}

    assert openers == {"perlica"}


def test_the_policy_is_for_the_service_and_not_for_the_backup(find: Find) -> None:
    chosen = find("NetworkPolicy", "perlica")["spec"]["podSelector"]["matchLabels"]
    service = find("Deployment", "perlica")["spec"]["template"]["metadata"]["labels"]
    backup = find("CronJob", "perlica-backup")["spec"]["jobTemplate"]["spec"]["template"]

    assert chosen.items() <= service.items()
    assert not chosen.items() <= backup["metadata"]["labels"].items()


def test_nothing_inside_is_reached_under_the_name_of_the_internet(find: Find) -> None:
    rules = find("NetworkPolicy", "perlica")["spec"]["egress"]
    blocks = [peer["ipBlock"] for rule in rules for peer in rule["to"] if "ipBlock" in peer]

    for address in map(ipaddress.ip_address, NEVER):
        for block in blocks:
            inside = address in ipaddress.ip_network(block["cidr"])
            spared = any(address in ipaddress.ip_network(it) for it in block.get("except", []))
            assert not inside or spared, (address, block["cidr"])


def test_services_and_policies_name_ports_that_there_are(
    rendered: Sequence[Manifest], find: Find
) -> None:
    pod = pod_of(find("Deployment", "perlica"))
    assert pod is not None
    (container,) = containers_of(pod)
    ports = {port["name"] for port in container["ports"]}
    targets = {
        port["targetPort"]
        for it in rendered
        if it["kind"] == "Service"
        for port in it["spec"]["ports"]
    }

    assert targets == ports
    assert {way.rpartition("/")[2] for way in WAYS_OF_THE_SERVICE if way.startswith("in")} == ports
