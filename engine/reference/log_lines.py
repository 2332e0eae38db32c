"""Log lines in SGLang's own shapes, so that what reads its logs reads these (sglang 0.5.23)."""


def prefill_line(new_tokens: int, usage: float, running: int, queued: int, tokens_per_s: float) -> str:
    """One prompt was read."""
    return (
        f"Prefill batch, #new-seq: 1, #new-token: {new_tokens}, #cached-token: 0, token usage: {usage:.2f}, "
        f"#running-req: {running}, #queue-req: {queued}, #pending-token: 0, cpu graph: False, "
        f"input throughput (token/s): {tokens_per_s:.2f}"
    )


def decode_line(
    running: int, tokens: int, usage: float, accept: tuple[float, float] | None, tokens_per_s: float, queued: int
) -> str:
    """One log interval of decoding. `accept` is accept length and accept rate, `None` without speculation."""
    spoken = "" if accept is None else f"accept len: {accept[0]:.2f}, accept rate: {accept[1]:.2f}, "
    return (
        f"Decode batch, #running-req: {running}, #token: {tokens}, token usage: {usage:.2f}, {spoken}"
        f"cpu graph: False, gen throughput (token/s): {tokens_per_s:.2f}, #queue-req: {queued}"
    )
