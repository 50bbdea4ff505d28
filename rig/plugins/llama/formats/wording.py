"""Whether words beside a call tell of it or make it: by what they say, sentence by sentence.

Words cannot be understood here. What is listed are the ways in which people and models tell of calls: by an
example, a condition, a negation, a question, a report. English is covered best; of other languages there is
what matters most.
"""

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_CALLING = "(?:call|use|send|invoke|run|make|execute|issue|write)"
_CALLED = (
    "(?:called|used|sent|invoked|ran|run|made|executed|issued|wrote|tried|logged|recorded|emitted|produced)"
)
_MENTION = _any(
    # Examples, conditions and forms
    r"(?<![@.\w])examples?\b(?!\.\w)|\be\.g\.|\bfor instance\b|\bsuch as\b|\bsay,|\bsample\b|\bplaceholder\b",
    r"\bcould\b(?!(?: not|n't) (?:find|see|get))",
    r"\b(?:would|might|hypothetical(?:ly)?|illustrat\w+|demonstrat\w+|imagine|suppose|pretend)\b",
    r"\bif (?:you|we|i|it|the|a|someone|there)\b|\blooks? like\b|\blike (?:this|so|the following)\b",
    r"\bhow (?:to|you|it|the|one|i|we|a)\b|\bhere(?:'s| is) what\b|\bcalls? (?:that|which)\b",
    r"\b(?:you|one|users?|developers?|clients?|callers?|they|someone)(?:'d| (?:can|could|should|must|may"
    rf"|need to|have to|will|would))?(?: \w+)? (?:{_CALLING}|pass|add|put|set|do|type|start)\b",
    r"\b(?:i'll|i will|let me|let's|i'm going to|i am going to|i can) (?:\w+ )?(?:explain|show|describe"
    r"|illustrate|demonstrate|walk|outline|teach|document|help you (?:write|understand|call|make))\b",
    r"\b(?:beispiel\w*|z\. ?b\.|exemples?|ejemplos?|exemplos?|voorbeeld\w*|bijvoorbeeld|przykład\w*)\b",
    r"\b(?:например|пример\w*)\b|例如|比如|譬如|示例|例子|范例|たとえば|例えば|例[:：]|例を|예를 들|예시|예:",
    r"उदाहरण|मिसाल|مثال|على سبيل المثال|مثلا",
    # Reports
    r"\b(?:i|we|you|it|they|the \w+)(?:'ve| have| had| has)?(?: (?:just|already|first|then|also))?"
    rf" (?:(?:been|was|were) )?{_CALLED}\b",
    rf"\b(?:was|were|been|got|is|are|being) (?:{_CALLED}|rejected|changed)\b",
    r"\b(?:prints|logs|returns|yields|outputs|emits|produces|gives|records)"
    r" (?:\w+ ){0,3}(?:json|calls?|object|this|following)\b",
    r"(?:^|\n)\s{0,9}(?:user|human|system|question|q)\s?:|\bsystem prompt\b",
    # Negations
    r"(?:\bnot|n't|\bnever|\bcannot|\bno need to|\bwithout|\binstead of|\brather than|\bavoid|\brefrain from)"
    rf"(?: \w+){{0,2}} (?:{_CALLING}|calling|using|sending|invoking|running|making|executing)\b",
    r"\b(?:will|can|could|should|do|did|would|must)(?: not|n't)\b.{0,40}\b(?:tools?|functions?|calls?)\b",
    r"\bdecided against\b|\b(?:nicht|keine?n?|niet|geen)\b|\bn(?:e |')\w.{0,30} pas\b|\bне\b",
    r"不(?:会|要|能|需要|应|调用)|没有|ません|않",
    # Questions
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\b(?:do|would) you (?:want|like)\b|\bplease confirm\b",
    r"\byour (?:approval|permission|confirmation|consent)\b|\bonce you (?:confirm|approve|agree)\b",
    r"\bjust say\b|\bready to be (?:sent|run|called)\b|\blet me know (?:if|whether)\b",
    # Code, its reviews and documents
    r"\bunit tests?\b|\btest case\b|\b(?:request|response) body\b|\breplace\b|\bTODO\b|\bpull request\b",
    r"\bbugs? (?:is )?in\b|(?:^|\n)#{1,6} |\byour (?:tests?|code|script|function|logs?|prompt|message|json"
    r"|file|config\w*|program|client|server|model|agent)\b",
    r"\b(?:wrong|incorrect|invalid|bad|broken|malformed|faulty|correct(?:ed)?|fixed|valid|expected|actual"
    r"|formatted)\b.{0,30}\b(?:calls?|version|json|output|arguments|one|form)\b",
)
_WEAK_MENTION = _any(
    r"\b(?:formats?|schemas?|syntax|template|signature|definitions?|defined|declar\w+|specification|spec)\b",
    r"\b(?:previous(?:ly)?|earlier|last time|before that|history|transcript|logs?|trace|record(?:ed)?)\b",
    r"\b(?:documentation|documented|docs?|reference|manual|tutorial|guide|readme|payload|responses?)\b",
    r"\b(?:returned|returns?|received|receives?|failed|fails?|succeeded|expects?|requires?|required|accepts?)\b",
    r"\b(?:takes?|describes?|represents?|shows?|contains?|consists?|means|corresponds?|equivalent|meant)\b",
    rf"\b(?:to|can|of|by|for|when) (?:{_CALLING}|calling|using|sending|invoking|making|writing)\b",
    r"\b(?:review|refactor\w*|snippet|code|implementation|script|config(?:uration)?|parameters?|arguments)\b",
    r"\b(?:fields?|parse[sd]?|stored|saved|quoted?|entry|was|were)\b",
    r"\b(?:save|copy|paste|insert|put) (?:this|it)\b",
    # German
    r"\b(?:etwa so|könnte\w*|würde\w*|sähe|sieht|aussehen|wenn (?:sie|du|man))\b",
    r"\b(?:aufgerufen|man (?:ruft|kann)|dokumentation|zurückgegeben|soll ich|darf ich)\b",
    # French
    r"\b(?:pourrai\w*|serait|ressemble|comme (?:ceci|suit|cela)|si (?:vous|tu|on)|renvo\w+)\b",
    r"\b(?:appelé\w*|vous pouvez|on peut|dois-je|puis-je|voulez-vous)\b",
    # Spanish, Portuguese, Italian
    r"\b(?:podría\w*|sería|vería|si (?:usted|quieres|quiere)|así|formato|devolv\w+)\b",
    r"\bllam(?:é|ado)\b|\b(?:puedes?|se puede|debo|quieres)\b",
    r"\b(?:poderia\w*|seria|assim|você pode|pode-se|devo)\b",
    r"\b(?:chamad\w+|retorn\w+|esempi\w*|potrebbe|sarebbe|così|puoi|si può|vuoi|chiamat\w+|restitu\w+)\b",
    # Dutch, Polish, Turkish, Russian
    r"\b(?:zou\w*|als je|ziet er|zo uit|je kunt|zal ik|aangeroepen)\b",
    r"\b(?:można|wygląda|gdyby\w*|nie|örne\w+|şöyle|olabilir|değil)\b",
    r"\b(?:мог\w* бы|выгляд\w+|если|можно|формат\w*|вызв\w+|верну\w+)\b",
    # Chinese, Japanese, Korean, Hindi, Arabic
    r"格式|如果|可以(?:这样|像|使用|通过|用)|应该|文档|如下所示|返回|调用了|是否|要不要",
    r"形式|ように|場合|できます|でしょう|ました|ドキュメント|しましょうか",
    r"형식|다음과 같|경우|수 있|했습니다|문서|할까요|उदाहरण|मثال|على سبيل المثال|مثلا|يمكنك",
)
"""What tells of a call, unless the same sentence says that it is about to be made."""
_ANNOUNCEMENT = _any(
    r"\b(?:i(?:'ll| will| shall| am| need to| have to| must|'m)|let me|let's|let us|we(?:'ll| will| need to"
    r"| have to| can (?:use|call))|allow me|one moment|hold on|give me a (?:moment|second))\b",
    r"\bi can (?:look|check|find|search|get|do|see|call|use)\b",
    r"^(?:calling|using|checking|looking|searching|sending|fetching|getting|invoking|running|creating|sure|okay"
    r"|ok|certainly|of course|alright|understood|got it|on it|working on it|right away|please wait)\b",
    r"^\W{0,4}(?:(?:tool|function) ?(?:calls?|request)|action|assistant|call|json|calls)\W{0,6}$",
    r"^(?:first|then|next|now|also|second)\b[^:\n]{0,30}:?$",
    r"\bhere(?:'s| is| are) (?:the|my) (?:(?!documentation|schema|definition)\w+ ){0,5}"
    r"(?:calls?|request|action)\b",
    r"\bhere(?:'s| is) the json\b",
    r"\b(?:ich (?:werde|sehe|prüfe|schaue|rufe|suche|hole|mache)|voy a|vou|je (?:vais|vérifie|regarde"
    r"|cherche)|vado a|controllo|ik (?:ga|zal)|zaraz|sprawdzę|сейчас|я (?:проверю|посмотрю|найду)"
    r"|einen moment|un momento|un instant|claro|natürlich|bien sûr|gerne)\b",
    r"我来|让我|我将|我会|我马上|正在|请稍|します|ます。|하겠습니다|잠시만",
)
"""Words that announce a call: who writes them is about to make it."""
_COURTESY = _any(
    r"\bi(?:'d| would) (?:be|love)\b[^.!?:\n]{0,80}[.!]?",
    r"\b(?:please )?let me know\b"
    r"(?! (?:if|whether) (?:you(?:'d| would)? (?:want|like|prefer)|i should|this|that|it)\b)"
    r"[^.!?\n]{0,80}[.!]?",
    r"\b(?:is there )?anything else\b[^.!?\n]{0,60}[?.!]?|\bif you (?:need|have) any\b[^.!?\n]{0,80}[.!]?",
)
"""What assistants say around anything."""
_SENTENCE = re.compile(
    r"(?<=[.!?;。！？])\s+|(?<=[。！？：])|\n+|,\s+(?:so|but|and|then)\s+(?=i\b|let\b|we\b)", re.IGNORECASE
)


def tells(words: str) -> bool:
    """Return whether words beside a call tell of it, quote it, or ask about it, instead of making it."""
    words = _COURTESY.sub(" ", words.replace("’", "'")).strip()
    return bool(words) and (words.endswith(("?", "？", "؟")) or any(map(_is_mention, _SENTENCE.split(words))))


def _is_mention(sentence: str) -> bool:
    return bool(
        _MENTION.search(sentence) or (_WEAK_MENTION.search(sentence) and not _ANNOUNCEMENT.search(sentence))
    )


def announces(words: str) -> bool:
    """Return whether the last sentence says that a call is about to be made."""
    sentences = [part for part in _SENTENCE.split(words.replace("’", "'").strip()) if part.strip()]
    return bool(sentences) and bool(_ANNOUNCEMENT.search(sentences[-1]))
