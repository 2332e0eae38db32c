"""Names that data sets give to their columns. Seen in the sets of the catalogue and in public training code."""

ID = ("id", "task_id", "question_id", "conversation_id", "prompt_id", "uuid", "instance_id", "problem_id", "name")
LANGUAGE = ("programming_language", "language", "lang")
LICENCE = ("license", "licence", "license_type")
CONVERSATION = ("messages", "conversations", "conversation", "prompt", "chat", "dialog", "dialogue", "messages_json")
TURNS = ("turns", "dialogue", "dialog")
INSTRUCTION = ("instruction", "instructions")
PROMPT = (
    "prompt", "question", "query", "problem", "problem_statement", "instruction", "description", "task", "Problem",
    "user", "message_1", "input",
)  # fmt: skip
RESPONSE = (
    "response", "answer", "completion", "output", "solution", "solutions", "gold_standard_solution", "answers",
    "canonical_solution", "message_2", "Rationale", "generation", "assistant", "summary",
)  # fmt: skip
TESTS = (
    "test", "tests", "test_list", "unit_tests", "unit_test", "assertions", "verification_info", "test_cases",
    "entry_point", "ground_truth",
)  # fmt: skip
PROBLEM = ("description", "question", "problem", "content", "problem_description", "title")
PROBLEM_PARTS = (
    "input_format", "output_format", "interaction_format", "examples", "public_tests", "sample_tests", "starter_code",
    "time_limit", "memory_limit", "difficulty", "rating",
)  # fmt: skip
PROBLEM_TOLD = ("input_format", "output_format", "interaction_format", "examples", "starter_code", "note")
"""Parts of a problem that its solver must see, in the order in which they are told."""
TEXT = ("text", "content", "code", "document")
USER_NAMES = frozenset({"user", "human", "prompter"})
ASSISTANT_NAMES = frozenset({"assistant", "gpt", "chatgpt", "bing", "bard", "model", "ai", "function_call", "bot"})
SYSTEM_NAMES = frozenset({"system", "developer"})
TOOL_NAMES = frozenset({"tool", "function", "observation", "ipython", "tool_response", "function_response"})
