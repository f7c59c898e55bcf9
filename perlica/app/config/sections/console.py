"""The read-only web console: where it listens, who is let in, and how much of the machine it takes.

Off without `listen`. Viewers' tokens are no part of the configuration: `perlica console token`.
"""

from typing import Annotated

from pydantic import Field

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import Section
from perlica.app.config.values import AbsolutePath, HttpAddress, ListenAddress, Seconds, Whole


class ConsoleSection(Section):
    """[console]: nothing in it can act; everything shown was protected before it was stored."""

    listen: Annotated[
        ListenAddress | None,
        Meaning(
            zh="控制台的监听地址；省略就不开控制台",
            en="address of the console; without it there is none",
            example='"127.0.0.1:8450"',
        ),
    ] = None
    public_url: Annotated[
        HttpAddress | None,
        Meaning(
            zh="浏览器里看到的地址；经反向代理时要写，只含协议、主机和端口",
            en="address in the browser, needed behind a proxy: scheme, host and port only",
            example='"https://perlica.example.internal"',
        ),
    ] = None
    proxy_secret_file: Annotated[
        AbsolutePath | None,
        Meaning(
            zh="可信代理的共享密钥文件，权限 0600；省略就只认查看者令牌",
            en="file with the trusted proxy's secret, mode 0600; without it only tokens count",
            example='"/etc/perlica/secrets/console-proxy"',
        ),
    ] = None
    token_days: Annotated[
        Whole,
        Field(ge=1, le=366),
        Meaning(zh="新令牌默认有效几天", en="days that a new token lasts by default", example="90"),
    ] = 90
    session_hours: Annotated[
        Whole,
        Field(ge=1, le=168),
        Meaning(zh="登录一次有效几小时", en="hours that a login lasts", example="12"),
    ] = 12
    login_failures: Annotated[
        Whole,
        Field(ge=1, le=1000),
        Meaning(
            zh="同一地址失败几次后暂停登录",
            en="failed logins of one address before it has to wait",
            example="10",
        ),
    ] = 10
    login_wait_s: Annotated[
        Seconds,
        Field(ge=1, le=3600),
        Meaning(zh="失败过多时要等的秒数", en="seconds that it has to wait then", example="60"),
    ] = 60.0
    refresh_s: Annotated[
        Seconds,
        Field(ge=1, le=300),
        Meaning(
            zh="页面自动刷新的间隔，秒",
            en="seconds between two looks of an open page",
            example="2",
        ),
    ] = 2.0
    threads: Annotated[
        Whole,
        Field(ge=1, le=32),
        Meaning(
            zh="控制台最多用几个线程，也是最多几个数据库连接",
            en="threads, and database connections, that the console takes at most",
            example="4",
        ),
    ] = 4
