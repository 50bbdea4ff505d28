"""The words that conversations are made from: those of words.toml, and small talk."""

import tomllib
from pathlib import Path

_FILE = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def _list(name: str) -> list[str]:
    return [" ".join(word.split()) for word in _FILE[name].split(";")]


FIRST = _list("first")
LAST = _list("last")
CITIES = _list("cities")
MAIL_HOSTS = _list("mail_hosts")
FIRM_FIRST = _list("firm_first")
FIRM_LAST = _list("firm_last")
THINGS = _list("things")
VERBS = _list("verbs")
TASK_VERBS = _list("task_verbs")
TASKS = _list("tasks")
EVENT_KINDS = _list("event_kinds")
EVENT_TOPICS = _list("event_topics")
EVENT_NAMES = _list("event_names")
PLACES = _list("places")
CONDITIONS = _list("conditions")
TOPICS = _list("topics")
PASSWORD_WORDS = _list("password_words")

CHAT = (
    ("[hi|hello|hey|good day] [there|!|]", "[Hello|Hi]! [How can I help|What can I do for you]?"),
    (
        "[what a day|long day today|i'm so tired|busy week]",
        "[I hope it gets calmer soon|Sounds exhausting]. [How can I help|What do you need]?",
    ),
    ("[i'm back|me again|it's me again]", "[Welcome back|Good to see you again]! What can I do?"),
    ("[are you there|you there|can you help me]?", "[Yes, I'm here|Of course]. What do you need?"),
    (
        "[happy friday|nice to meet you|hope you're well]!",
        "[Thank you|Thanks], [you too|and to you]! What can I do for you?",
    ),
    (
        "[i need a hand|i've got a question|quick favor]",
        "[Sure|Of course|Gladly], [what is it|what do you need|tell me]?",
    ),
    (
        "[so much to do before the weekend|my desk is a mess|i'm running late again]",
        "Let's [get something done|sort it out]. What first?",
    ),
    (
        "[the match was great last night|i just got home|finally lunch break]",
        "[Nice|Lovely]! Anything I can do for you?",
    ),
    (
        "[just testing if this works|is this thing on]",
        "[It works|Yes, I can hear you]. What can I do for you?",
    ),
)

THANKS = (
    (
        "[thanks|thank you|great, thanks|perfect|super|cool|awesome|brilliant|good|ok|alright|lovely]",
        "[You're welcome|Gladly|Any time|My pleasure]!",
    ),
    ("[ok|good|right], [thanks|that's all|that helps]", "[You're welcome|Glad to help]!"),
)
