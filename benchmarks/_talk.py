"""Invented Chinese group talk for the benchmarks: two hundred common words and messages of them.

The words stand in the order of how often they are written; the word of rank r is drawn with the
weight 1 / (r + 2.7), which is Zipf's law with Mandelbrot's shift and fits written Chinese.
"""

import itertools
import random
from collections.abc import Iterator
from typing import Final

WORDS: Final = """
我们 一个 没有 他们 可以 自己 这个 什么 就是 现在 问题 因为 时候 已经 知道 如果 工作 大家 还是 但是
可能 不是 这样 所以 今天 需要 时间 你们 怎么 起来 开始 这里 一下 觉得 看到 出来 使用 服务 系统 应该
这些 进行 的话 然后 通过 东西 明天 下午 上午 昨天 测试 数据 文件 代码 更新 版本 发布 部署 重启 日志
错误 失败 成功 检查 确认 处理 修改 配置 环境 网络 连接 超时 请求 接口 用户 登录 权限 密码 账号 集群
节点 容器 镜像 仓库 分支 合并 提交 回滚 监控 告警 磁盘 内存 进程 线程 缓存 队列 消息 任务 脚本 命令
执行 结果 原因 分析 方案 设计 文档 会议 讨论 安排 计划 完成 进度 延期 支持 功能 需求 客户 产品 团队
老师 同学 朋友 公司 项目 组织 管理 经济 发展 社会 国家 世界 生活 学习 研究 技术 科学 方法 情况 方面
关系 影响 作用 条件 过程 内容 信息 标准 要求 目标 水平 能力 机会 经验 成本 价格 市场 企业 政府 政策
法律 安全 保护 环保 能源 交通 医院 医生 健康 运动 音乐 电影 文化 历史 语言 文字 故事 新闻 报道 记者
天气 下雨 吃饭 睡觉 周末 假期 旅游 机票 酒店 照片 视频 手机 电脑 软件 硬件 键盘 屏幕 电池 充电 快递
""".split()

WEIGHTS: Final = [1 / (rank + 2.7) for rank in range(1, len(WORDS) + 1)]
_LINKS: Final = ("的", "了", "，", "和", "在", "吗", "。", "是", "把", "", "", "", "", "")
_MARKS: Final = ("POL-{n}", "k8s/ns-{n}", "v1.{n}", "#{n}", "👍", "OK", "node-{n}")


def make_messages(count: int, *, seed: int) -> Iterator[str]:
    """`count` messages, the same for the same seed: 3 to 24 words, some with an identifier."""
    dice = random.Random(seed)  # noqa: S311 - a corpus, no secret
    total = list(itertools.accumulate(WEIGHTS))
    for number in range(count):
        words = dice.choices(WORDS, cum_weights=total, k=dice.randint(3, 24))
        text = "".join(word + dice.choice(_LINKS) for word in words)
        is_marked = number % 5 == 0
        yield (
            f"{text} {dice.choice(_MARKS).format(n=dice.randint(1, 9_999))}" if is_marked else text
        )


def draw_words(count: int, *, seed: int) -> list[str]:
    """`count` words to search for, drawn as often as they are written."""
    return random.Random(seed).choices(WORDS, weights=WEIGHTS, k=count)  # noqa: S311
