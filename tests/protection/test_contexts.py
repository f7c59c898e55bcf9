"""The ways in which people and programs write passwords; each form is tried with several."""

import pytest

from perlica.protection import Channel, protect
from tests.protection.made import Dice

CHINESE = (
    "服务器 10.0.0.8 账号 root 密码 {} 端口22",
    "账号密码 root / {}，先别改",
    "密码：{}",
    "密码是{} 你试试",
    "密码:\n{}",
    "初始密码为 {}，登录后自己改掉",
    "root密码改成 {} 了",
    "新密码：「{}」",
    "【密码】{}",
    "密码（{}）",
    "密码->{}",
    "口令还是老的 {}",
    "密码没变，还是{}",
    "密码改了\n新的：{}",
    "用户名root密码{}",
    "wifi密码：{}",
    "解压密码 {}",
    "邮箱授权码 {}",
    "账密 root:{}",
    "登录用 admin/{}",
    "数据库 root 用户的密码已重置为 {} 请知悉",
    "API_TOKEN是：{}，记得改",
)
COMMANDS = (
    "mysql -h db -uroot -p{} perlica",
    "mysqladmin -u root password {}",
    "sshpass -p '{}' ssh root@10.0.0.3",
    "echo '{}' | sudo -S systemctl restart nginx",
    "echo {} | docker login -u bob --password-stdin reg.example",
    "docker login registry.example -u bob -p {}",
    "redis-cli -h redis -a {} ping",
    "PGPASSWORD={} psql -h db -U app",
    "curl -u bob:{} https://x.example",
    'curl -X POST https://x.example -d \'{{"user":"bob","password":"{}"}}\'',
    "wget --http-user=bob --http-password={} https://x.example/a.tgz",
    "echo 'bob:{}' | chpasswd",
    "net user bob {} /add",
    "openssl rsa -in key.pem -passin pass:{} -out plain.pem",
    "unzip -P {} a.zip",
    "7z x a.7z -p{}",
    "kubectl create secret generic db --from-literal=password={}",
    "helm upgrade x y --set auth.password={}",
    "ldapsearch -x -D cn=admin,dc=example -w {} -b dc=example",
    "rabbitmqctl change_password bob {}",
    "ALTER USER bob WITH PASSWORD '{}';",
    "CREATE USER 'bob'@'%' IDENTIFIED BY '{}';",
    "xfreerdp /v:10.0.0.1 /u:admin /p:{}",
    "keytool -list -keystore a.jks -storepass {}",
    "smbclient //nas/share -U bob%{}",
    "ansible all -m ping -e ansible_password={}",
)
ADDRESSES = (
    "postgresql://app:{}@db.internal:5432/perlica",
    "redis://:{}@redis.internal:6379/0",
    "bob:{}@tcp(db.internal:3306)/app",
    "jdbc:mysql://db.internal:3306/app?user=bob&password={}&useSSL=false",
    "jdbc:oracle:thin:bob/{}@db.internal:1521/ORCL",
    "Server=db.internal;User Id=sa;Password={};Encrypt=True",
    "host=db.internal port=5432 user=bob password={} dbname=app",
    "trojan://{}@node.example:443?sni=node.example#jp",
)
FILES = (
    "machine git.internal login bob password {}",
    "db.internal:5432:app:bob:{}",
    "[client]\nhost=db\nuser=bob\npassword={}",
    "requirepass {}",
    'network={{\n  ssid="x"\n  psk="{}"\n}}',
    "user,password\nbob,{}",
    "| 账号 | 密码 |\n|---|---|\n| root | {} |",
    "kind: Secret\nstringData:\n  whatever: {}\n",
    "users:\n- name: ci\n  user:\n    username: ci\n    password: {}",
)


@pytest.mark.parametrize("form", CHINESE + COMMANDS + ADDRESSES + FILES)
def test_a_password_vanishes_and_the_rest_stays(form: str) -> None:
    for seed in range(8):
        password = Dice(seed).password()
        before, _, after = form.format("\0").partition("\0")

        content = protect(form.format(password), Channel.MESSAGE).content

        assert password not in content
        assert content.startswith(before)
        assert content.rstrip("\n").endswith(after.rstrip("\n"))


HEADERS = (
    "Authorization: Bearer {}",
    "Authorization: token {}",
    "X-API-Key: {}",
    "PRIVATE-TOKEN: {}",
    "Cookie: lang=zh-CN; sessionid={}; theme=dark",
    "Set-Cookie: session={}; Path=/; HttpOnly",
    "curl -H 'Authorization: Bearer {}' https://x.example",
    "https://x.example/a?page=2&access_token={}&lang=zh",
)


@pytest.mark.parametrize("form", HEADERS)
def test_an_opaque_token_of_a_request_vanishes(form: str) -> None:
    token = Dice(9).mixed(40)
    before, _, after = form.format("\0").partition("\0")

    content = protect(form.format(token), Channel.MESSAGE).content

    assert token not in content
    assert content.startswith(before)
    assert content.endswith(after)


def test_basic_authorization_is_known_by_what_it_decodes_to() -> None:
    import base64

    value = base64.b64encode(b"bob:" + Dice(10).password().encode()).decode()

    assert value not in protect(f"Authorization: Basic {value}", Channel.LOG).content


def test_every_value_of_a_kubernetes_secret_vanishes() -> None:
    import base64

    values = [base64.b64encode(Dice(n).password().encode()).decode() for n in range(3)]
    lines = "\n".join(f"  entry-{n}: {value}" for n, value in enumerate(values))

    content = protect(f"apiVersion: v1\nkind: Secret\ndata:\n{lines}\n", Channel.CLUSTER).content

    assert not any(value in content for value in values)
    assert "entry-2" in content


@pytest.mark.parametrize("name", ["密码是 {}.txt", "DB_PASSWORD={}.txt", "API_TOKEN={}.log"])
def test_a_secret_that_a_file_is_named_after_vanishes(name: str) -> None:
    for seed in range(20):
        secret = Dice(seed).mixed(14)

        assert secret not in protect(name.format(secret), Channel.MESSAGE).content


def test_a_password_of_letters_and_one_digit_is_no_name_though_more_lines_follow() -> None:
    password = "yWFGmtcj" + "rxDVj6"

    assert password not in protect(f"数据库密码是 {password}\n第二行", Channel.MESSAGE).content
