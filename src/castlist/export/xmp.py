"""XMP sidecars: the people shown, as IPTC has them, and a marker per appearance."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from castlist.export.timeline import Timeline

#: In every file, so that files of other tools are not overwritten.
MADE_BY = 'x:xmptk="castlist"'
_SPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
    "xmpDM": "http://ns.adobe.com/xmp/1.0/DynamicMedia/",
}
_RESOURCE = '<rdf:li rdf:parseType="Resource">'


def xmp_lines(timeline: Timeline) -> Iterator[str]:
    """Yield ``PersonInImage`` with the named people, and a track of markers in frames.

    Regions are left out: they have no time, and faces of a video move.
    """
    spaces = " ".join(f'xmlns:{name}="{uri}"' for name, uri in _SPACES.items())
    yield '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
    yield f'<x:xmpmeta xmlns:x="adobe:ns:meta/" {MADE_BY}>\n<rdf:RDF {spaces}>\n'
    yield '<rdf:Description rdf:about="">\n'
    named = [one.label for one in timeline.people if one.character.name]
    if named:
        yield "<Iptc4xmpExt:PersonInImage><rdf:Bag>\n"
        yield from (f"<rdf:li>{escape(label)}</rdf:li>\n" for label in named)
        yield "</rdf:Bag></Iptc4xmpExt:PersonInImage>\n"
    rate = timeline.rate
    unit = f"f{rate.numerator}" + (f"s{rate.denominator}" if rate.denominator > 1 else "")
    yield f"<xmpDM:Tracks><rdf:Bag>{_RESOURCE}\n"
    yield "<xmpDM:trackName>castlist</xmpDM:trackName><xmpDM:trackType>Comment</xmpDM:trackType>"
    yield f"<xmpDM:frameRate>{unit}</xmpDM:frameRate>\n<xmpDM:markers><rdf:Seq>\n"
    for seen, person in timeline.in_order():
        first, after = timeline.frames(seen)
        yield f"{_RESOURCE}<xmpDM:startTime>{first}</xmpDM:startTime>"
        yield f"<xmpDM:duration>{after - first}</xmpDM:duration>"
        yield f"<xmpDM:name>{escape(person.label)}</xmpDM:name></rdf:li>\n"
    yield "</rdf:Seq></xmpDM:markers>\n</rdf:li></rdf:Bag></xmpDM:Tracks>\n"
    yield '</rdf:Description>\n</rdf:RDF>\n</x:xmpmeta>\n<?xpacket end="w"?>\n'
