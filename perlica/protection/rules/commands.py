"""Command lines: the short options and positions where programs take a password.

Long options with a telling name (`--password`) are left to the key-value rule.
"""

import re
from typing import Final

from perlica.protection.engine import NEAR, Match, Pattern, linear
from perlica.protection.sheet import Gated, Sheet
from perlica.protection.values import is_reference, is_stand_in, is_strong

KINDS: Final = frozenset({"command_password", "command_token"})

_V: Final = r"(?:\"([^\"\r\n]+)\"|'([^'\r\n]+)'|([^\s\"'`|;<>]+))"
_PAIR: Final = r"[\"']?[^\s:\"']+:(?:([^\s\"'`|<>]+)|([^\"'\r\n]+))[\"']?"
_REST: Final = r"[^\n|;]*?"


_PORTS: Final = re.compile(r"[\d.]*(?::\d+)+(?:/\w+)?$")


def _command(gates: str, pattern: str) -> Pattern:
    """A program and where its password stands: any group of the pattern.

    `gates` are words, commas between, of which one is on every such line.
    """
    return linear(pattern, ignore_case=True, gates=gates.split(","), reach=NEAR)


_COMMANDS: Final = (
    _command(
        "mysql,mariadb",
        r"\b(?:mysql|mariadb|mycli|mydumper|myloader|xtrabackup|innobackupex|pt-)[a-z_\-]"
        rf"*\b{_REST}\s-p{_V}",
    ),
    _command("mysqladmin", rf"\bmysqladmin\b{_REST}\spassword\s+{_V}"),
    _command("sshpass", rf"\bsshpass\s+(?:-v\s+)?-p\s*{_V}"),
    _command(
        "sudo", rf"\becho\s+(?:-n\s+|-e\s+)?{_V}\s*\|\s*(?:\w+=\S+\s+)?sudo\s+(?:-\w+\s+)*-\w*S"
    ),
    _command(
        "echo,printf,print ",
        r"\b(?:echo|printf|print)\s+(?:-n\s+|-e\s+|-ne\s+|[\"']%s(?:\\n)?[\"']\s+)"
        rf"*{_V}\s*\|\s*[^\n]*?(?:--password-stdin|--with-token|--stdin|\bpasswd\b|cryptsetup|"
        r"kinit|--passphrase-fd|pass:stdin|-pass stdin|login\b)",
    ),
    _command(
        "<<<",
        r"(?:passwd|cryptsetup|kinit|login|--password-stdin|--with-token|sudo -S|su |psql|"
        rf"htpasswd|vault|bw unlock)[^\n]*<<<\s*{_V}",
    ),
    _command(
        "redis-cli,keydb-cli,valkey-cli",
        rf"\b(?:redis|keydb|valkey)-(?:cli|benchmark)\b{_REST}\s(?:-a|--pass)[ =]?\s*{_V}",
    ),
    _command("auth ", r"(?:^|>|\n)\s*AUTH\s+(?:[A-Za-z]\w{0,30}\s+)?([^\s\"'`]{6,200})\s*$"),
    _command(
        "login",
        r"\b(?:docker|podman|nerdctl|helm|buildah|skopeo|oras|crane|harbor|az|acr|regctl)\b[^\n|"
        rf";]*?\blogin\b{_REST}\s-p\s*{_V}",
    ),
    _command("creds,ctr", rf"--(?:src-|dest-)?creds[ =]\s*{_PAIR}"),
    _command("ctr ", rf"\bctr\b{_REST}(?:-u|--user)[ =]\s*{_PAIR}"),
    _command("ldap", rf"\bldap[a-z]+\b{_REST}\s-w\s*{_V}"),
    _command(
        "curl",
        rf"\b(?:curl|curlie)\b[^\n|]*?\s(?:-u|--user|--proxy-user|-U)[ =]?\s*{_PAIR}",
    ),
    _command(
        "http ,https ,xh ,ab ,hey ,wrk ,siege ",
        rf"(?:\bhttps?|\bxh|\bab|\bhey|\bwrk|\bsiege)\s[^\n|]*?(?:-a|-A|--auth|-P)[ =]\s*{_PAIR}",
    ),
    _command(
        "chpasswd",
        r"\b(?:echo|printf)\s+(?:-\w+\s+)*[\"']?[\w.\-]+:([^\s\"'|]+)[\"']?\s*\|\s*[^\n]{0,"
        r"40}chpasswd",
    ),
    _command("net user", rf"\bnet\s+user\s+\S+\s+{_V}(?:\s+/\w+|\s*$|\s*\n)"),
    _command("net use", rf"\bnet\s+use\s[^\n]*?/user:\S+\s+{_V}"),
    _command("/pass:,/p:,/password:,/gp:", rf"\s/(?:pass|p|password|gp):{_V}"),
    _command("openssl,pass:", r"(?:-pass(?:in|out)?\s+|-k\s+)[\"']?pass:([^\s\"']+)"),
    _command("openssl", rf"\bopenssl\s+enc\b{_REST}\s-k\s+{_V}"),
    _command(
        "smbclient,rpcclient,mount.cifs,wbinfo,winexe",
        rf"\b(?:smbclient|rpcclient|smbmap|wbinfo|winexe|net)\b{_REST}\s(?:-U|--user)[ =]"
        r"?\s*[\"']?[^\s%\"']+%([^\s\"']+)",
    ),
    _command(
        "htpasswd",
        rf"\bhtpasswd\s+(?:-\w*b\w*\s+)(?:-\w+\s+)*(?:\S+\s+)?\S+\s+{_V}\s*(?:$|\n|;|&|\|)",
    ),
    _command("zip ", rf"\b(?:zip|unzip|zipinfo)\b[^\n|;]*?\s-P\s*{_V}"),
    _command("7z ,7za ,7zr ,rar ", rf"\b(?:7z[ar]?|rar|unrar)\s[^\n|;]*?\s-h?p{_V}"),
    _command("sqlcmd,bcp,osql,isql", rf"\b(?:sqlcmd|bcp|osql|isql|tsql)\b{_REST}\s-P\s*{_V}"),
    _command(
        "cqlsh,nodetool",
        rf"\b(?:cqlsh|nodetool)\b{_REST}\s(?:-p|-pw)\s*{_V}",
    ),
    _command("mongo", rf"\bmongo(?:sh|dump|restore|export|import|stat|top)?\b{_REST}\s-p\s*{_V}"),
    _command(
        "mosquitto,ipmitool,x3270", rf"\b(?:mosquitto_\w+|ipmitool|x3270)\b{_REST}\s-P\s*{_V}"
    ),
    _command(
        "ncftp,vncviewer,plink,pscp,psftp,putty,kitty",
        rf"\b(?:ncftp\w*|vncviewer)\b{_REST}\s-p\s*{_V}|\b(?:plink|pscp|psftp|putty|kitty)\b[^\n|"
        rf";]*?\s-pw\s+{_V}",
    ),
    _command("lftp", rf"\blftp\b{_REST}\s-u\s+[\"']?[^\s,\"']+,([^\s\"']+)"),
    _command("snmp", rf"\bsnmp\w+\b{_REST}\s-[AX]\s*{_V}"),
    _command("snmp", rf"\bsnmp\w+\b[^\n|;]*\s-X\s*{_V}"),
    _command("snmp", rf"\bsnmp\w+\b{_REST}\s-c\s+{_V}"),
    _command(
        "keytool,jarsigner,apksigner",
        rf"\s-(?:storepass|keypass|srcstorepass|deststorepass|new)\s+{_V}",
    ),
    _command("pass:", r"--?(?:ks-|key-)?pass\s+pass:([^\s\"']+)"),
    _command("useradd,usermod", rf"\buser(?:add|mod)\b{_REST}\s-p\s*{_V}"),
    _command(
        "rabbitmqctl",
        rf"\brabbitmqctl\b{_REST}\b(?:add_user|change_password|authenticate_user)\s+\S+\s+{_V}",
    ),
    _command(
        "alias,config",
        rf"\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S+\s+\S+\s+\S+\s+{_V}",
    ),
    _command(
        "ossutil,obsutil,coscmd",
        rf"\b(?:ossutil|obsutil|coscmd|tosutil|qshell|s3cmd)(?:64)?\b{_REST}\s(?:-k|-s|-sk)[ =]"
        rf"\s*{_V}",
    ),
    _command("qshell", rf"\bqshell\s+account\s+\S+\s+{_V}"),
    _command(
        "configure set,config set",
        r"\b(?:aws|aliyun|tccli|hcloud|bce|volc|gcloud|oci|az)\s+configure?\s+set\s+\S{0,"
        rf"60}}(?:secret|token|password|key)\S{{0,30}}\s+{_V}",
    ),
    _command(
        "npm config,yarn config,pnpm config,pip config,poetry config,git config,helm config,gem "
        "config,composer config,heroku config,fly config,vercel config,netlify config,supabase "
        "config,wrangler config,ngrok config,cargo config",
        r"\b(?:npm|yarn|pnpm|pip|poetry|git|helm|gem|composer|heroku|fly|vercel|netlify|"
        r"supabase|wrangler|ngrok|cargo)\s+config\S{0,12}\s+(?:--\w+\s+|set\s+|"
        r"add-authtoken\s+)*\S*(?:token|password|secret|auth|key)\S{0,40}\s+(?:[\w.\-]"
        rf"+\s+(?:__token__\s+)?)?{_V}",
    ),
    _command("authtoken", rf"\bngrok\s+(?:config\s+add-authtoken|authtoken)\s+{_V}"),
    _command(
        "login,unlock,tailscale up,netbird up",
        r"\b(?:cargo|vault|wandb|huggingface-cli|hf|gh|glab|fly|railway|pulumi|tailscale|"
        r"netbird|doppler|bw|op|snyk|infisical|codecov|sentry-cli)\s+(?:auth\s+)?(?:login|"
        rf"unlock|up)\s+(?:--?\w[\w\-]*[ =]\s*)?{_V}",
    ),
    _command(
        "gem,push,twine",
        rf"\b(?:twine\s+upload|gem\s+push|nuget\s+push|dotnet\s+nuget\s+push)\b{_REST}\s(?:-p|-k|"
        rf"--api-key)\s+{_V}",
    ),
    _command(
        "--from-literal",
        r"--from-literal[= ][\"']?[A-Za-z0-9_.\-]+=(?:\"([^\"\r\n]+)\"|'([^'\r\n]+)'|([^\s\"'`|"
        r";<>]+))",
    ),
    _command(
        "kubeadm,--token",
        r"--(?:discovery-|bootstrap-)?token[ =]\s*([a-z0-9]{6}\.[a-z0-9]{16})",
    ),
    _command("etcdctl", rf"\betcdctl\b{_REST}--user[ =]\s*{_PAIR}"),
    _command(
        "identified,password",
        r"\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)(?:\s+password)?|with\s+(?:encrypted\s+)"
        r"?password|(?:encrypted|unencrypted)\s+password|set\s+password\s*(?:for\s+\S+\s*)?=|"
        r"role\s+\S+\s+(?:\w+\s+){0,6}password|user\s+\S+\s+(?:\w+\s+){0,6}password|"
        r"login\s+\S+\s+with\s+password\s*=|old_password\s*=|password\s*\()"
        r"\s*\(?N?(?:\"([^\"\r\n]+)\"|'([^'\r\n]+)')",
    ),
    _command(
        "requirepass,masterauth", rf"\b(?:requirepass|masterauth|sentinel\s+auth-pass\s+\S+)\s+{_V}"
    ),
    _command(" >", r"\b(?:acl\s+setuser|user)\s+\S+\s[^\n]*?\s>([^\s\"']+)"),
    _command("login", rf"\b(?:machine\s+\S+|default)\s+(?:login|user)\s+\S+\s+password\s+{_V}"),
    _command("send ", r"\b(?:send|send_user)\s+(?:--\s+)?[\"']([^\"'\\\r\n]{4,100})\\[rn][\"']"),
    _command(
        "nmcli,wpa_passphrase,iwconfig,netsh",
        rf"\b(?:wpa_passphrase\s+(?:\"[^\"]+\"|\S+)\s+|nmcli\b{_REST}\bpassword\s+|"
        rf"iwconfig\b{_REST}\bkey\s+(?:s:)?){_V}",
    ),
    _command(
        "socks4,socks5,http ",
        r"(?:^|\n)\s*(?:socks[45]|http)\s+[\w.\-]{3,80}\s+\d{2,5}\s+\S+\s+(\S+)",
    ),
    _command("gpg", rf"\bgpg2?\b{_REST}--passphrase[ =]\s*{_V}"),
    _command("jenkins", rf"\s-auth\s+{_PAIR}"),
    _command("convertto-securestring", rf"ConvertTo-SecureString\s+(?:-String\s+)?{_V}"),
    _command(
        "pscredential,networkcredential",
        r"(?:PSCredential|NetworkCredential)\s*\(\s*[^,\n]+,\s*\"([^\"\n]+)\"",
    ),
    _command(
        "auth(,auth (,auth=,auth =,login(,login (,login=,authenticate(,credentials(,credentials=",
        r"\b(?:HTTP(?:Basic|Digest)Auth|basic_?auth|set_?basic_?auth|with_?basic_?auth|auth|"
        r"login|authenticate|credentials|starttls_login)\s*[(=]\s*\(?\s*[\"'][^\"'\n]+[\"']\s*,"
        r"\s*[\"']([^\"'\n]{3,200})[\"']",
    ),
    _command(
        " -p", rf"\s(?:-u|-U|-l|--user(?:name)?|--login)[ =]\s*\S+\s+(?:-p|-P|--pass)[ =]\s*{_V}"
    ),
    _command(
        "getconnection,connect(,connect (,mysqli,pdo(,pdo (,createconnection",
        r"\b(?:getConnection|(?:mysqli?|pg|psycopg2?|pymysql|oracledb|cx_Oracle)?[_.]?connect|"
        r"mysqli|PDO|createConnection)\s*\((?:[^,()\n]+,\s*){2}[\"']([^\"'\n]{3,})[\"']",
    ),
    _command("xfreerdp,rdesktop", rf"\brdesktop\b{_REST}\s-p\s*{_V}"),
    _command("gost", r"\bgost\b[^\n]*?-[LF][ =]?\S*?://[^\s:@]+:([^\s@]+)@"),
    _command(
        "secret set,secrets set,variable set",
        rf"\b(?:secrets?|variable)\s+set\s+\S+\s+(?:--body|--value|-b|-v)[ =]\s*{_V}",
    ),
)


# Configuration of network gear: a digit before the value says how it is stored.
_GEAR: Final = (
    _command(
        "enable secret,enable password,username,key-string,ppp chap,neighbor,pre-shared-key,"
        "tacacs-server,radius-server,snmp-server",
        r"\b(?:enable\s+(?:secret|password)|username\s+\S+\s+(?:privilege\s+\d+\s+)?(?:secret|"
        r"password)|key-string|ppp\s+chap\s+password|neighbor\s+\S+\s+password|pre-shared-key|"
        r"tacacs-server\s+key|radius-server\s+key|snmp-server\s+community)"
        r"\s+([05789]\s+|level\s+\d+\s+)?([^\s\"']{4,200})",
    ),
    _command(
        "cipher",
        r"\b(?:password|passwd|secret|(?:shared-|pre-shared-)?key|psk|key-string|community(?:\s+\w+)?|"
        r"read|write|simple|md5(?:\s+\d+)?|hmac\S*(?:\s+\d+)?|authentication\S*(?:\s+\S+)?|"
        r"\w+-(?:password|mode|key))\s+((?:irreversible-)?cipher\s+)([^\s\"']{4,200})",
    ),
    _command("cipher", r"\b((?:irreversible-)?cipher\s+)([%@$]\S{6,400})"),
)
_FINGERPRINT_OF_GIT: Final = b"user.signingkey"
_ABOUT_PASSWORDS: Final = frozenset(
    """
    protection encryption management authentication recovery rotation autofill complexity expiry
    history aging prompt prompts login access storage sharing manager generation hashing policies
    suite suites block blocks text texts stream mode modes list string strings algorithm
    algorithms negotiation order spec specs family groups
    """.split()
)
_ALGORITHM: Final = re.compile(
    r"(?:TLS_|SSL_|ECDH|DHE|RSA|AES|CHACHA|3?DES|RC4|CAMELLIA|ARIA|SM[1-4]|IDEA|SEED|BLOWFISH|NULL"
    r"|HIGH|MEDIUM|DEFAULT|ALL|EECDH)(?:$|[\d:_\-+!@])",
    re.IGNORECASE,
)
_GATED: Final = Gated(_COMMANDS)
_GATED_GEAR: Final = Gated(_GEAR)


def detect(sheet: Sheet) -> None:
    """Find passwords on command lines."""
    for number in sheet.possible(_GATED):
        _find(sheet, _COMMANDS[number])
    for number in sheet.possible(_GATED_GEAR):
        for match in sheet.matches(_GEAR[number]):
            if _is_configured(sheet.data, match):
                _add(sheet, *match.span(2))


def _is_configured(data: bytes, match: Match) -> bool:
    """True for a line of configuration; false for talk about passwords and ciphers."""
    value = match.group(2).decode("latin-1").rstrip(".,;:)!?")
    if _ALGORITHM.match(value) or value.lower() in _ABOUT_PASSWORDS:
        return False
    if not value.isalpha() or is_strong(value):
        return True
    return match.start(1) >= 0 or data[match.end() : match.end() + 2].strip(b" \t")[:1] in b"\n"


def _find(sheet: Sheet, pattern: Pattern) -> None:
    for match in sheet.matches(pattern):
        if _FINGERPRINT_OF_GIT in match.group():
            continue
        for group in range(1, pattern.groups + 1):
            start, end = match.span(group)
            if start >= 0:
                _add(sheet, start, end)


def _add(sheet: Sheet, start: int, end: int) -> None:
    text = sheet.data[start:end].decode("latin-1")
    text = text.rstrip(",;") if len(text) > 1 else text
    if (
        _PORTS.match(text)
        or is_stand_in(text)
        or text.startswith("-")
        or is_reference(text, quoted=True)
    ):
        return
    sheet.add(start, start + len(text), kind="command_password", rule="command", rank=35)
