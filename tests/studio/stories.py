"""What people do in the studio, one step a function, by a client without a window."""

import re
import time


def go(visitor, path, expect=200):
    answer = visitor.get(path)
    assert answer.status_code == expect, f"{path}: {answer.status_code} {words_of(answer)}"
    return answer


def send(visitor, path, fields=None, expect=303):
    answer = visitor.submit(path, fields)
    assert answer.status_code == expect, f"{path}: {answer.status_code} {words_of(answer)}"
    return answer.headers.get("location", "")


def words_of(answer):
    """The words of a page, without its markup."""
    text = re.sub(r"<(script|style).*?</\1>", " ", answer.text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)).strip()


def ask(visitor, dataset="ward", method="profile", params="", note="For the report"):
    """Ask a question; return the id of the draft."""
    fields = {"method": method, "params": params, "note": note, "draft": ""}
    return send(visitor, f"/d/{dataset}/ask", fields).split("/")[2]


def sign(visitor, draft, epsilon="0.5"):
    """Choose an epsilon and sign; return the address of the request."""
    assert send(visitor, f"/r/{draft}/epsilon", {"epsilon": epsilon, "go": "on"}).endswith("/sign")
    go(visitor, f"/r/{draft}/sign")
    fields = {"epsilon": repr(float(epsilon)), "agree": "yes"}
    return send(visitor, f"/r/{draft}/submit", fields)


def wait_for_job(visitor, request, seconds=120):
    """Wait until the job of a request has ended; return its page."""
    for _ in range(int(seconds / 0.2)):
        page = go(visitor, request)
        if "data-events" not in page.text and 'id="job"' in page.text:
            return page
        time.sleep(0.2)
    raise AssertionError(f"the job did not end: {words_of(page)}")


def release(visitor, **facts):
    """From the question to the release; return the id of the request."""
    epsilon = facts.pop("epsilon", "0.5")
    request = sign(visitor, ask(visitor, **facts), epsilon)
    page = wait_for_job(visitor, request)
    assert "Open the release" in page.text, words_of(page)
    return request.split("/")[2]


def text_of(page, which):
    """The command or the Python of a page, as it is copied."""
    import html

    return html.unescape(re.search(rf'<code id="as-{which}">(.*?)</code>', page.text, re.DOTALL)[1])
