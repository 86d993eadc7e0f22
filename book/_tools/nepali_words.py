"""The nouns and adjectives of the corpus, for a reader of Nepali to check.

The tables are made like those of `nepali_verbs`.
"""

# Several of a kind, or a kind: what the deeds are done to.
KINDS = """
rice | भात bhāt
bread | रोटी roṭī
meat | मासु māsu
fish | माछा māchhā
fruit | फलफूल phalphūl
vegetables | तरकारी tarkārī
bananas | केरा kerā
mangoes | आँप ā̃p
apples | स्याउ syāu
oranges | सुन्तला suntalā
potatoes | आलु ālu
flowers | फूल phūl
clothes | लुगा lugā
shoes | जुत्ता juttā
goats | बाख्रा bākhrā
birds | चरा charā
stars | तारा tārā
mountains | हिमाल himāl
"""

# One thing, and what can be said of it.
THINGS = """
house | घर ghar | big small good beautiful new old clean expensive vacant far
room | कोठा koṭhā | big small good beautiful clean dirty cheap vacant
shop | पसल pasal | big small good new old clean open closed far
school | विद्यालय vidyālaya | big small good beautiful new old open closed far
temple | मन्दिर mandir | big small beautiful new old open closed far
village | गाउँ gāũ | big small good beautiful clean far
river | नदी nadī | big small long beautiful clean dirty far
road | बाटो bāṭo | good long new old open closed clean dirty
door | ढोका ḍhokā | big small new old open closed strong black red
book | किताब kitāb | big small good new old expensive cheap easy difficult
pen | कलम kalam | good new old expensive cheap black red white
bag | झोला jholā | big small good new old dirty cheap black red
shirt | कमिज kamij | good new old clean dirty expensive black red white
watch | घडी ghaḍī | good beautiful new old expensive cheap black
bicycle | साइकल sāikal | good new old strong expensive cheap black red
chair | मेच mech | big small strong new old clean vacant
table | टेबल ṭebal | big small strong new old clean dirty long
bed | खाट khāṭ | big small strong new old clean cheap vacant
rice | भात bhāt | hot cold
bread | रोटी roṭī | big small hot cold cheap
meat | मासु māsu | hot cold expensive cheap
fish | माछा māchhā | big small expensive cheap
tea | चिया chiyā | hot cold expensive cheap
milk | दूध dūdh | hot cold expensive cheap
water | पानी pānī | hot cold clean dirty
dog | कुकुर kukur | big small good beautiful strong black white
flower | फूल phūl | big small good beautiful red white cheap
lesson | पाठ pāṭh | good easy difficult long new old
story | कथा kathā | good easy difficult beautiful long new old
song | गीत gīt | good easy difficult beautiful long new old
"""
QUALITIES = """
big | ठूलो ṭhūlo
small | सानो sāno
good | राम्रो rāmro
beautiful | सुन्दर sundar
new | नयाँ nayā̃
old | पुरानो purāno
clean | सफा saphā
dirty | फोहोर phohor
expensive | महँगो mahãgo
cheap | सस्तो sasto
vacant | खाली khālī
far | टाढा ṭāḍhā
open | खुला khulā
closed | बन्द banda
strong | बलियो baliyo
long | लामो lāmo
easy | सजिलो sajilo
difficult | गाह्रो gāhro
hot | तातो tāto
cold | चिसो chiso
black | कालो kālo
white | सेतो seto
red | रातो rāto
"""

# How somebody is, and what somebody is.
FEELINGS = """
happy | खुसी khusī
sad | दुःखी duḥkhī
sick | बिरामी birāmī
ready | तयार tayār
busy | व्यस्त vyasta
healthy | स्वस्थ svastha
"""
TRADES = """
student | विद्यार्थी vidyārthī
teacher | शिक्षक shikṣak
doctor | डाक्टर ḍākṭar
farmer | किसान kisān
singer | गायक gāyak
writer | लेखक lekhak
player | खेलाडी khelāḍī
driver | चालक chālak
soldier | सैनिक sainik
worker | मजदुर majdur
"""

# Where: one word in Nepali, its ending -मा for any of in, on and at.
PLACES = """
at home | घरमा gharmā
at school | विद्यालयमा vidyālayamā
at work | काममा kāmmā
in class | कक्षामा kakṣāmā
in nepal | नेपालमा nepālmā
in pokhara | पोखरामा pokharāmā
"""
SPOTS = """
in the room | कोठामा koṭhāmā
in the kitchen | भान्सामा bhānsāmā
in the shop | पसलमा pasalmā
in the temple | मन्दिरमा mandirmā
on the bed | खाटमा khāṭmā
on the table | टेबलमा ṭebalmā
"""
WAYS = """
home | घर ghar
here | यहाँ yahā̃
there | त्यहाँ tyahā̃
outside | बाहिर bāhira
inside | भित्र bhitra
upstairs | माथि māthi
downstairs | तल tala
"""
# In front of a question.
ASKING = """
(yes or no?) | के ke
"""
POINTERS = """
this | यो yo
that | त्यो tyo
"""
