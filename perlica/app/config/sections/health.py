"""The health server: liveness, readiness and metrics for whoever operates the service.

Off without `listen`. It shows states and numbers and takes no commands, but has no login either:
it belongs on this machine or behind a network policy.
"""

from typing import Annotated

from pydantic import Field

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import Section
from perlica.app.config.values import ListenAddress, Seconds


class HealthSection(Section):
    """[health]: /healthz, /readyz and /metrics."""

    listen: Annotated[
        ListenAddress | None,
        Meaning(
            zh="健康检查与指标的监听地址，没有登录，只给内部用；省略就不开",
            en="address of health checks and metrics, without a login; none when it is left out",
            example='"127.0.0.1:9464"',
        ),
    ] = None
    figures_every_s: Annotated[
        Seconds,
        Field(ge=1, le=300),
        Meaning(
            zh="两次统计数据库之间至少隔几秒",
            en="seconds between two looks at the database for metrics, at least",
            example="10",
        ),
    ] = 10.0
