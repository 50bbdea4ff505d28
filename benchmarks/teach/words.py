"""The words that conversations are made from: those of words.toml, and small talk."""

import tomllib
from pathlib import Path


def _read(name: str) -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


_FILE = _read("words.toml")


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
SPOTS = _list("spots")
CONDITIONS = _list("conditions")
TOPICS = _list("topics")
PASSWORD_WORDS = _list("password_words")
ONSETS = _list("onsets")
VOWELS = _list("vowels")
CODAS = _list("codas")
TOWN_ENDINGS = _list("town_endings")

BEGINS = (
    "[ok|okay|right|hey|so|um|ah|oh|hm|well|alright|sorry|listen|quick one|me again|oh and|one more "
    "thing|also][,|]",
    "[hey you|ok so|right so|hi again|oh wait|one sec|hang on|still me|so anyway|before i forget"
    "|while i think of it][,|:|]",
    "i'm [late|in a hurry|on the bus|half asleep|in a queue|at {name}'s], so",
    "[my hands are [full|wet|cold]|the kids are [loud|asleep|fighting]|it's [noisy|dark|freezing] "
    "here|phone's nearly dead].",
    "[{name} keeps [asking|calling|laughing at me]|i [slept badly|just woke up|found my glasses]"
    "|the {thing} broke].",
    "[could you|can you|would you|any chance you could|you couldn't] [help me out|do me a favor]?",
)
"""What people say before they say what they want."""

AFTER = (
    "[don't ask|long story|as always|of course|for once|at last|sadly|if you can|when you can|no "
    "rush|quickly|haha|ugh]",
    "[i'm [late|in a hurry|on the bus|half asleep|in a queue]|my hands are [full|wet|cold]|the kids "
    "are [loud|asleep]]",
    "[{name} [wants to know|told me to|is waiting|keeps asking]|i keep forgetting|i can't see it "
    "from here|it's been a day]",
    "[before i forget|before {name} comes|while i look for the {thing}|because of the {thing}"
    "|otherwise {name} gets cross]",
)
"""What people say after they have said what they want."""

PHRASES = {name: lines.splitlines() for name, lines in _read("phrases.toml").items()}
"""Ways to ask for things, by what is wanted."""

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

OPENINGS = (
    (
        "[i'm|we're|i am] [packing|cooking|painting the {spot}|waiting for {name}|cleaning up|"
        "on the train|in a "
        "queue|sorting papers|making a list|looking for the {thing}][ and [need some help|"
        "have a question|could use a hand]|"
        " right now|]",
        "[Sounds good|All right|Okay|I see]. [What do you need|How can I help|What can I do]?",
    ),
    (
        "[{name} just [left|called|got here|cancelled]|the {thing} broke again|i found the {thing}|"
        "i can't find the "
        "{thing}|the {spot} is closed|they closed the {spot}|my {thing} arrived|"
        "{name} borrowed my {thing}]",
        "[Oh|I see|Good to know|Oh no|Ah]. [Anything I can do|Can I help with something|"
        "What can I do for you]?",
    ),
    (
        "[could|can|would] you [help me|do something for me|check something for me|"
        "look something up for me][, please|]?",
        "[Of course|Sure|Gladly|Yes]. [What is it|What should I do|What is it about|What do you need]?",
    ),
    (
        "[how are you|how's it going|are you awake|did you sleep well|all good]?",
        "[Fine, thank you|All good|Very well]! [And you|What can I do for you|How can I help]?",
    ),
    (
        "[good morning|good evening|good afternoon|morning|evening|hi|hello|hey][!|,] [what a [night|"
        "week|trip|mess]|it's "
        "[late|early]|i'm [tired|hungry|glad it's over|almost there|finished at last]|[finally|"
        "nearly] [at home|weekend]]",
        "[Hello|Hi]! [I hope you can rest|Hang in there|Good to hear from you|What can I do for you]?",
    ),
    (
        "[i have|i've got|there's] [something|one thing|a few things|one more thing] to [do|sort out|"
        "take care of|"
        "arrange][ before {name} comes|]",
        "[Sure|Gladly|Of course]. [What is it|Tell me|What comes first]?",
    ),
    (
        "[the {firm} people|{name} and the others|my neighbors|the kids|my colleagues] are [coming|"
        "here|waiting|"
        "celebrating|asking a lot][ soon| already|]",
        "[How nice|I see|All right]. [Is there anything you need|Can I do something]?",
    ),
)
"""Things said before anything is wanted, about nothing that a tool could do."""

ASIDES = (
    (
        "[is that right|are you sure|really|is that all|is that everything|nothing else|did it work|"
        "was that it]?",
        "[Yes, that's right|Yes|Yes, that's all|Yes, it worked]!",
    ),
    (
        "[hm|ok|ah|right|i see|good to know], [i'll think about it|that's what i thought|"
        "i wasn't sure|i expected "
        "that|that's fine|not bad|that'll do|that's a relief]",
        "[All right|Okay|Good|Sure]! [Just tell me when you need me|]",
    ),
    (
        "[{name} will [be happy|laugh|be surprised|like that]|i'll tell {name} myself|"
        "{name} told me so|i hope {name} "
        "[knows|agrees|doesn't mind]]",
        "[Good|I hope so too|That's nice|I'm sure]! [Anything else|]",
    ),
    (
        "[uff|oh dear|oh no|wow|great|nice|oh good|hm], [so soon|so late|that's [a lot|not much|"
        "early|close|odd|good|"
        "new]|what a [day|pity|relief|surprise]|i should hurry]",
        "[Yes|Indeed|Right]! [Is there anything else|Let me know what you need|]",
    ),
    (
        "[never mind|forget it|leave it|it's fine|no, that's fine|that's enough][ for now| for today|]",
        "[All right|Okay|As you like].",
    ),
    (
        "[how do you do that|who made you|can you do that every day|are you a robot|"
        "do you ever sleep|is this private]?",
        "[I'm just an assistant with a few tools|I'm a program that helps with such things]. "
        "[Anything else|]",
    ),
    (
        "[give me a [second|minute|moment]|one moment|wait a second|hold on|let me [think|check|ask {name}]]",
        "[Sure|Take your time|Of course|No hurry]!",
    ),
)
"""Things said afterwards, for which nothing is to be done."""

THANKS = (
    (
        "[thanks|thank you|great, thanks|perfect|super|cool|awesome|brilliant|good|ok|alright|lovely]",
        "[You're welcome|Gladly|Any time|My pleasure]!",
    ),
    ("[ok|good|right], [thanks|that's all|that helps]", "[You're welcome|Glad to help]!"),
)
