"""The people and verbs of the corpus, for a reader of Nepali to check.

Each table is a text: one entry a line, its columns parted by bars, and
behind each Nepali word how it is said.
"""

# How one says it in English; alone; as the agent of a finished deed; as one
# who has something; and as an owner. `he` is not used of what one has.
PEOPLE = """
i | म ma | मैले maile | मसँग masãga | my | मेरो mero
we | हामी hāmī | हामीले hāmīle | हामीसँग hāmīsãga | our | हाम्रो hāmro
you | तिमी timī | तिमीले timīle | तिमीसँग timīsãga | your | तिम्रो timro
he | ऊ ū | उसले usle | | his | उसको usko
they | उनीहरू unīharū | उनीहरूले unīharūle | उनीहरूसँग unīharūsãga \
| their | उनीहरूको unīharūko
ram | राम rām | रामले rāmle | रामसँग rāmsãga | ram's | रामको rāmko
hari | हरि hari | हरिले harile | हरिसँग harisãga | hari's | हरिको hariko
"""

# The forms of a verb: a line for each tense, affirmed and denied; a column
# for each of म, हामी, तिमी, ऊ (and राम, हरि), उनीहरू.
BE = """
छु chhu | छौँ chhaũ | छौ chhau | छ chha | छन् chhan
छैनँ chhainã | छैनौँ chhainaũ | छैनौ chhainau | छैन chhaina | छैनन् chhainan
थिएँ thiẽ | थियौँ thiyaũ | थियौ thiyau | थियो thiyo | थिए thie
थिइनँ thiinã | थिएनौँ thienaũ | थिएनौ thienau | थिएन thiena | थिएनन् thienan
"""
BE_SOMEBODY = """
हुँ hũ | | हौ hau | हो ho |
होइनँ hoinã | | होइनौ hoinau | होइन hoina |
थिएँ thiẽ | | थियौ thiyau | थियो thiyo |
थिइनँ thiinã | | थिएनौ thienau | थिएन thiena |
"""
EAT = """
खान्छु khānchhu | खान्छौँ khānchhaũ | खान्छौ khānchhau | खान्छ khānchha \
| खान्छन् khānchhan
खाँदिनँ khā̃dinã | खाँदैनौँ khā̃dainaũ | खाँदैनौ khā̃dainau \
| खाँदैन khā̃daina | खाँदैनन् khā̃dainan
खाएँ khāẽ | खायौँ khāyaũ | खायौ khāyau | खायो khāyo | खाए khāe
खाइनँ khāinã | खाएनौँ khāenaũ | खाएनौ khāenau | खाएन khāena | खाएनन् khāenan
खानेछु khānechhu | खानेछौँ khānechhaũ | खानेछौ khānechhau \
| खानेछ khānechha | खानेछन् khānechhan
खानेछैनँ khānechhainã | खानेछैनौँ khānechhainaũ | खानेछैनौ khānechhainau \
| खानेछैन khānechhaina | खानेछैनन् khānechhainan
"""
BUY = """
किन्छु kinchhu | किन्छौँ kinchhaũ | किन्छौ kinchhau | किन्छ kinchha \
| किन्छन् kinchhan
किन्दिनँ kindinã | किन्दैनौँ kindainaũ | किन्दैनौ kindainau \
| किन्दैन kindaina | किन्दैनन् kindainan
किनेँ kinẽ | किन्यौँ kinyaũ | किन्यौ kinyau | किन्यो kinyo | किने kine
किनिनँ kininã | किनेनौँ kinenaũ | किनेनौ kinenau | किनेन kinena \
| किनेनन् kinenan
किन्नेछु kinnechhu | किन्नेछौँ kinnechhaũ | किन्नेछौ kinnechhau \
| किन्नेछ kinnechha | किन्नेछन् kinnechhan
किन्नेछैनँ kinnechhainã | किन्नेछैनौँ kinnechhainaũ \
| किन्नेछैनौ kinnechhainau | किन्नेछैन kinnechhaina \
| किन्नेछैनन् kinnechhainan
"""
SEE = """
देख्छु dekhchhu | देख्छौँ dekhchhaũ | देख्छौ dekhchhau | देख्छ dekhchha \
| देख्छन् dekhchhan
देख्दिनँ dekhdinã | देख्दैनौँ dekhdainaũ | देख्दैनौ dekhdainau \
| देख्दैन dekhdaina | देख्दैनन् dekhdainan
देखेँ dekhẽ | देख्यौँ dekhyaũ | देख्यौ dekhyau | देख्यो dekhyo | देखे dekhe
देखिनँ dekhinã | देखेनौँ dekhenaũ | देखेनौ dekhenau | देखेन dekhena \
| देखेनन् dekhenan
देख्नेछु dekhnechhu | देख्नेछौँ dekhnechhaũ | देख्नेछौ dekhnechhau \
| देख्नेछ dekhnechha | देख्नेछन् dekhnechhan
देख्नेछैनँ dekhnechhainã | देख्नेछैनौँ dekhnechhainaũ \
| देख्नेछैनौ dekhnechhainau | देख्नेछैन dekhnechhaina \
| देख्नेछैनन् dekhnechhainan
"""
# Of these two the corpus has the forms of ऊ alone.
GO = """
| | | जान्छ jānchha |
| | | जाँदैन jā̃daina |
| | | गयो gayo |
| | | गएन gaena |
| | | जानेछ jānechha |
| | | जानेछैन jānechhaina |
"""
COME = """
| | | आउँछ āũchha |
| | | आउँदैन āũdaina |
| | | आयो āyo |
| | | आएन āena |
| | | आउनेछ āunechha |
| | | आउनेछैन āunechhaina |
"""

# What one does, what the verb is like in English, and to what or where.
DEEDS = (
    ("eat eats ate", "खानु khānu", EAT, "rice bread meat fish fruit vegetables"
     " bananas mangoes apples oranges potatoes"),
    ("buy buys bought", "किन्नु kinnu", BUY, "bread meat fish fruit mangoes"
     " vegetables apples oranges flowers clothes shoes goats"),
    ("see sees saw", "देख्नु dekhnu", SEE, "fish bananas mangoes potatoes"
     " apples flowers goats clothes birds stars mountains"),
)  # fmt: skip
MOVES = (
    ("go goes went", "जानु jānu", GO,
     "home there outside inside upstairs downstairs"),
    ("come comes came", "आउनु āunu", COME,
     "home here outside inside upstairs downstairs"),
)  # fmt: skip
