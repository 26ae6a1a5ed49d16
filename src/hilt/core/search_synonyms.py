"""Words that tool authors and those who look for a tool use for the same thing."""

from collections.abc import Callable, Mapping
from typing import Final

_GROUPS: Final = """
get fetch retrieve read show list view display return obtain lookup load check
list enumerate all show browse
search find query lookup discover locate look
create add make new insert generate build open start register
delete remove drop erase clear cancel destroy
update edit modify change set patch adjust rename
send post publish email message notify deliver submit
upload put push store save write
download pull export fetch save
run execute invoke call launch perform
file document path
directory folder
image picture photo figure
price cost quote rate
weather forecast temperature climate
location place address coordinate position geocode
route direction navigate navigation path
repository repo project codebase
issue ticket bug
merge combine join concat
convert transform translate change
compare diff difference
summarize summary overview abstract
calendar schedule event meeting appointment
chat message conversation talk
db database sql table
website web webpage page url site browser
paper article publication research
stock share ticker equity
movie film show
music song track audio
video clip footage
book hotel reserve reservation booking
buy purchase order shop shopping
user account member person people profile
commit revision change history
screenshot capture snapshot
chart plot graph diagram visualize visualization
count number amount total
latest recent newest current new
analyze analysis inspect examine evaluate
"""


def synonyms(stem: Callable[[str], str]) -> Mapping[str, tuple[str, ...]]:
    """Return for each stem the stems of the words that may stand for it, in code-point order."""
    found: dict[str, set[str]] = {}
    for line in _GROUPS.strip().splitlines():
        stems = {stem(word) for word in line.split()}
        for one in stems:
            found.setdefault(one, set()).update(stems - {one})
    return {one: tuple(sorted(others)) for one, others in found.items()}
