"""The sandbox family: persistent Linux environments, their life, their image and their nodes."""

from typing import Final

from perlica.domain.texts import Language
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.families.sandbox.actions import ACTIONS
from perlica.gateway.families.sandbox.executor import MakeRunner, SandboxExecutor
from perlica.gateway.families.sandbox.manage import SandboxManage
from perlica.gateway.families.sandbox.orders import sandbox_orders
from perlica.gateway.families.sandbox.review import DescriptionReview
from perlica.gateway.families.sandbox.settings import SandboxSettings
from perlica.gateway.families.sandbox.tools import SandboxExec, SandboxRead, SandboxWrite

NAME: Final = "sandbox"
_GUIDANCE: Final = """\
沙箱是长期存在的 Linux 环境，整个根文件系统都会保留；最多三个，默认没有外网，\
没有宿主和集群的权限。命令以参数列表执行；\
要用 shell 语法，就明确写 ["sh","-c","…"]。输出太长会被截断。\
要改含凭据的文件，就用命令只改别的行；要新密码，就在沙箱里现生成。"""


def sandbox_family(
    settings: SandboxSettings, make_runner: MakeRunner, language: Language
) -> ToolFamily:
    """The family with these limits, over the serializers that `make_runner` reaches."""
    return ToolFamily(
        name=NAME,
        tools=(
            SandboxExec(settings),
            SandboxRead(settings),
            SandboxWrite(settings),
            SandboxManage(settings),
        ),
        actions=ACTIONS,
        guidance=(_GUIDANCE,),
        orders=sandbox_orders(settings, language),
        make_executor=lambda database: SandboxExecutor(
            database=database,
            runner=make_runner(database),
            longest_work_s=settings.exec_within_s,
        ),
        review=DescriptionReview(),
    )
