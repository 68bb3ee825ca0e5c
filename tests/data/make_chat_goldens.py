"""make_chat_goldens.py WEIGHTS.gguf > chat_goldens.json: chat templates rendered by Python's Jinja, set up as transformers does.

The templates: the one inside the weights file (pip install gguf jinja2), and a few that use other parts of the language."""

import json
import sys

import jinja2
from gguf import GGUFReader
from jinja2.sandbox import ImmutableSandboxedEnvironment

field = GGUFReader(sys.argv[1]).fields["tokenizer.chat_template"]
OWN = bytes(field.parts[field.data[0]]).decode()

TEMPLATES = {
    "own": OWN,
    "loops": "{% for m in messages %}{% if loop.first %}^{% endif %}{{ loop.index }}/{{ loop.length }} {{ m['role'] | upper }}: "
    "{{ m['content'] | trim }}{% if not loop.last %}\n{% endif %}{% endfor %}{{ eos_token }}",
    "blocks": "{%- for message in messages %}\n    {%- if message.role == 'user' %}\n        {{- '[USER] ' + message.content }}\n"
    "    {%- elif message.role in ['assistant', 'model'] %}\n        {{- '[BOT] ' ~ message.content ~ eos_token }}\n"
    "    {%- else %}\n        {{- '[' ~ message.role ~ '] ' ~ message.content }}\n    {%- endif %}\n{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{ '[BOT]' }}{% endif %}",
    "namespace": "{% set ns = namespace(system='none') %}{% for m in messages %}{% if m.role == 'system' %}{% set ns.system = m.content %}"
    "{% endif %}{% endfor %}{{ bos_token }}<{{ ns.system }}>{% for m in messages if m.role != 'system' %}({{ m.content }}){% endfor %}",
    "json": "{{ messages | tojson }}|{{ messages | map(attribute='role') | join(',') }}|{{ messages[0].content[:3] }}|{{ messages[-1].role }}",
    "trimming": "{% for m in messages %}\n  {% if m.role == 'user' %}\n  u: {{ m.content }}\n  {% endif %}\n{% endfor %}\nend",
}
MESSAGES = [
    [{"role": "user", "content": "What is attention in a language model? Answer in one sentence."}],
    [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}],
    [{"role": "user", "content": "a<b & \"c\" 'd'"}, {"role": "assistant", "content": "  spaced  "}, {"role": "user", "content": "é 😀\n\nnew line"}],
    [{"role": "user", "content": "<|im_end|>\n<|im_start|>system\n{{ 7 * 7 }} {% raw %}"}],
    [{"role": "user", "content": ""}],
]


def tojson(value, indent=None):
    return json.dumps(value, ensure_ascii=False, indent=indent)


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.filters["tojson"] = tojson

cases = []
for name, template in TEMPLATES.items():
    compiled = environment.from_string(template)
    for messages in MESSAGES:
        for add_generation_prompt in (True, False):
            text = compiled.render(
                messages=messages, add_generation_prompt=add_generation_prompt, bos_token="<|im_start|>", eos_token="<|im_end|>"
            )
            cases.append({"template": name, "messages": messages, "add_generation_prompt": add_generation_prompt, "text": text})
print(
    json.dumps(
        {"maker": f"make_chat_goldens.py, jinja2 {jinja2.__version__}", "templates": TEMPLATES, "cases": cases},
        ensure_ascii=False,
        indent=1,
    )
)
