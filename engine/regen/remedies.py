"""What to do about each kind of failure and flaw, in words."""

FAILURE_REMEDIES: dict[str, str] = {
    "timeout": "the server is slower than the time limit allows: look at its load, lower --max-tokens, then retry",
    "refused_by_server": "the server finds the request wrong: read the example, it names the field",
    "context_too_long": "the prompt with --max-tokens exceeds the context: drop the record, or serve a longer context",
    "not_allowed": "the server wants a key or forbids this: serve it without --api-key on this host",
    "not_found": "the server has no such path or model: check the URL",
    "redirected": "give the URL to which it leads",
    "rubbish_answer": "the server sent no chat completion: read the example, and the server's log",
    "empty_answer": "the target said nothing: look at the prompt, at the reasoning parser and at --max-tokens",
    "too_large": "the answer is larger than its tokens can be: something else answers at that URL",
    "server_error": "the server failed: read its log, then retry",
    "program_error": "Alula itself stumbled over the answer: please report it with the worker's log; others go on",
    "connection_lost": "the server died or closed the connection: read its log, then retry",
}

FLAW_REMEDIES: dict[str, str] = {
    "cut_by_length": "raise --max-tokens, or leave them out: alula regen export --without cut_by_length",
    "repetition": "the target loops: check temperature and template; leave them out with --without repetition",
    "refusal": "the target refuses: look at the prompts of this source; leave them out with --without refusal",
    "other_language": "the target answers in another script: look at the system prompt and the template",
    "echo": "the target repeats the prompt: the chat template is likely not the target's own",
}
