"""Ordinary Chinese, Japanese and Korean sentences to compose messages from.

In the sentences `#` stands for a number and `@` for a name, an identifier or a word in Latin
letters; the corpus fills them in, so that what stands beside them varies.
"""

from __future__ import annotations

from pathlib import Path

LANGUAGES = ("zh", "ja", "ko")
_FOLDER = Path(__file__).parent / "sentences"
_NAMES = {
    "zh": (
        "王伟 李娜 张敏 刘洋 陈静 杨帆 赵磊 黄丽 周涛 吴刚 徐明 孙燕 胡军 朱琳 高峰 林涵 何晶 郭鹏"
    ),
    "ja": ("佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 松本 井上 木村 斎藤 清水"),
    "ko": ("김민수 이서연 박지훈 최유진 정하늘 강도윤 조은비 윤성호 장미라 임재현 한소희 오세훈"),
}
_COMMON = {
    "zh": (
        "部署 配置 数据 索引 服务 测试 用户 问题 系统 日志 缓存 接口 "
        "版本 网络 权限 备份 查询 消息 内存 任务"
    ),
    "ja": (
        "設定 確認 削除 検索 実行 変更 環境 接続 更新 追加 処理 結果 "
        "方法 問題 説明 必要 表示 保存 会議 情報"
    ),
    "ko": (
        "설정 확인 삭제 검색 실행 변경 환경 연결 갱신 추가 처리 결과 "
        "방법 문제 설명 필요 표시 저장 회의 정보"
    ),
}

CHARACTERS = {
    "zh": (
        "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可"
        "主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家"
        "电力里如水化高自二理起小物现实加量都两体制机当使点从业本"
    ),
    "ja": (
        "日本語東京時間会社年月火水木金土人大小中上下左右前後新古高低安長短多少早"
        "遅明暗強弱重軽開閉始終読書聞話見行来帰食飲買売作使思知教習持待立座休働遊"
        "歩走止入出乗降送受取置切押引"
    ),
    "ko": (
        "가나다라마바사아자차카타파하거너더러머버서어저처고노도로모보소오조구누두"
        "루무부수우주그느드르므브스으즈"
    ),
}
"""Characters to make up words from."""
JOINTS = {"zh": ("。", "，", "；", "。\n"), "ja": ("。", "、", "。\n"), "ko": (". ", ", ", ".\n")}
"""What stands between sentences."""
NAMES = {language: text.split() for language, text in _NAMES.items()}
COMMON = {language: text.split() for language, text in _COMMON.items()}
"""Words that people use together with all kinds of others."""
SENTENCES = {
    language: (_FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    for language in LANGUAGES
}
