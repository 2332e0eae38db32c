"""The console in plain lines: words at once, figures now and then."""

from console.command_line.live_view import FIGURES_S, News


def test_words_are_news_at_once_and_figures_only_now_and_then() -> None:
    news = News()
    assert news.of(["host cpu 10 %", "alert none"], 0.0) == ["host cpu 10 %", "alert none"]
    assert news.of(["host cpu 99 %", "alert none"], 1.0) == []
    assert news.of(["host cpu 98 %", "alert error: disk full"], 2.0) == ["alert error: disk full"]
    assert news.of(["host cpu 98 %", "alert none"], 3.0) == ["alert none"]
    assert news.of(["host cpu 97 %", "alert none"], FIGURES_S + 1) == ["host cpu 97 %"]
