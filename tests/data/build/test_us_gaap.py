"""Official taxonomy files, in small: names, labels, flags; and what is refused."""

import gzip
import json
import zipfile

import pytest
from abduce.data.build import us_gaap as prepare_us_gaap
from abduce.data.build.us_gaap import build_us_gaap
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy

XSD = """<?xml version="1.0" encoding="utf-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xbrli="http://www.xbrl.org/2003/instance"
  xmlns:dtr="http://www.xbrl.org/dtr/type/numeric" targetNamespace="http://fasb.org/us-gaap/{year}">
  <xs:import namespace="http://www.xbrl.org/2003/instance" schemaLocation="http://example.invalid/x.xsd"/>
  <xs:element id="us-gaap_Assets" name="Assets" nillable="true" substitutionGroup="xbrli:item"
    type="xbrli:monetaryItemType" xbrli:balance="debit" xbrli:periodType="instant"/>
  <xs:element id="us-gaap_EarningsPerShareBasic" name="EarningsPerShareBasic" substitutionGroup="xbrli:item"
    type="dtr:perShareItemType" xbrli:periodType="duration"/>
  <xs:element id="us-gaap_AssetsAbstract" name="AssetsAbstract" abstract="true" substitutionGroup="xbrli:item"
    type="xbrli:stringItemType" xbrli:periodType="duration"/>
  <xs:element id="us-gaap_OldThing" name="OldThing" substitutionGroup="xbrli:item"
    type="xbrli:monetaryItemType" xbrli:periodType="duration" xbrli:balance="credit"/>
  <xs:element id="srt_Other" name="Other" substitutionGroup="xbrli:item" type="xbrli:stringItemType"/>
  <xs:element name="localThing" type="xs:string"/>
</xs:schema>"""

LABELS = """<?xml version="1.0" encoding="utf-8"?>
<link:linkbase xmlns:link="http://www.xbrl.org/2003/linkbase" xmlns:xlink="http://www.w3.org/1999/xlink">
<link:labelLink xlink:type="extended" xlink:role="http://www.xbrl.org/2003/role/link">
  {locs}
  <link:label xlink:type="resource" xlink:label="lab_a" xlink:role="http://www.xbrl.org/2003/role/{role}"
    xml:lang="en-US">{text}</link:label>
  <link:label xlink:type="resource" xlink:label="lab_a" xlink:role="http://www.xbrl.org/2003/role/{role}"
    xml:lang="de">Summe</link:label>
  <link:label xlink:type="resource" xlink:label="lab_o" xlink:role="http://www.xbrl.org/2003/role/label"
    xml:lang="en-US">Old Thing (Deprecated 2021-01-31)</link:label>
  <link:labelArc xlink:type="arc" xlink:arcrole="http://www.xbrl.org/2003/arcrole/concept-label"
    xlink:from="loc_a" xlink:to="lab_a"/>
  <link:labelArc xlink:type="arc" xlink:arcrole="http://www.xbrl.org/2003/arcrole/concept-label"
    xlink:from="loc_o" xlink:to="lab_o"/>
</link:labelLink></link:linkbase>"""

LOCS = """<link:loc xlink:type="locator" xlink:href="us-gaap-2024.xsd#us-gaap_Assets" xlink:label="loc_a"/>
  <link:loc xlink:type="locator" xlink:href="us-gaap-2024.xsd#us-gaap_OldThing" xlink:label="loc_o"/>"""


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "us-gaap-2024" / "elts"
    folder.mkdir(parents=True)
    (folder / "us-gaap-2024.xsd").write_text(XSD.format(year=2024))
    (folder / "us-gaap-lab-2024.xml").write_text(
        LABELS.format(locs=LOCS, role="label", text="Assets,\n Total &amp; Sum")
    )
    (folder / "us-gaap-doc-2024.xml").write_text(
        LABELS.format(locs=LOCS, role="documentation", text="Amount of asset.")
    )
    return tmp_path / "us-gaap-2024"


def rows(path):
    with gzip.open(path, "rt") as stream:
        return {r["id"]: r for r in map(json.loads, stream)}


def test_everything_that_a_release_says(release, tmp_path):
    built = build_us_gaap(release, tmp_path / "out")
    found = rows(built.path)
    assert sorted(found) == ["Assets", "AssetsAbstract", "EarningsPerShareBasic", "OldThing"]
    assert found["Assets"] == {
        "id": "Assets",
        "label": "Assets, Total & Sum",
        "label_source": "official",
        "definition": "Amount of asset.",
        "usage_neutral_definition": "Amount of asset.",
        "datatype": "monetaryItemType",
        "balance": "debit",
        "period_type": "instant",
        "abstract": False,
        "deprecated": False,
    }
    assert found["EarningsPerShareBasic"]["label"] == "Earnings Per Share Basic"
    assert found["EarningsPerShareBasic"]["datatype"] == "perShareItemType"
    assert found["AssetsAbstract"]["abstract"]
    old = found["OldThing"]
    assert (old["label"], old["deprecated"], old["deprecated_date"]) == ("Old Thing", True, "2021-01-31")
    assert "4 us-gaap concepts of 2024" in built.lines[0]


def test_the_inventory_is_a_taxonomy(release, tmp_path):
    taxonomy = Taxonomy.load(build_us_gaap(release, tmp_path / "out").path)
    assert taxonomy["Assets"].definition == "Amount of asset."
    assert taxonomy["Assets"].metadata["balance"] == "debit"


def test_flags_leave_out(release, tmp_path):
    built = build_us_gaap(release, tmp_path / "out", abstract=False, deprecated=False)
    assert sorted(rows(built.path)) == ["Assets", "EarningsPerShareBasic"]


def test_another_prefix_and_a_zip_archive(release, tmp_path):
    archive = tmp_path / "release.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in release.rglob("*.x*"):
            packed.write(path, path.relative_to(release))
    assert rows(build_us_gaap(archive, tmp_path / "a").path) == rows(
        build_us_gaap(release, tmp_path / "b").path
    )
    assert list(rows(build_us_gaap(archive, tmp_path / "c", prefix="srt").path)) == ["Other"]


def test_the_same_release_gives_the_same_bytes(release, tmp_path):
    first = build_us_gaap(release, tmp_path / "a").path.read_bytes()
    assert build_us_gaap(release, tmp_path / "b").path.read_bytes() == first


def test_several_years_need_a_choice(release, tmp_path):
    (release / "us-gaap-2025.xsd").write_text(XSD.format(year=2025))
    with pytest.raises(InputError, match="2024, 2025"):
        build_us_gaap(release, tmp_path / "out")
    assert len(rows(build_us_gaap(release, tmp_path / "out", year="2025").path)) == 4


def test_a_prohibited_arc_takes_its_label_away(release, tmp_path):
    path = release / "elts" / "us-gaap-lab-2024.xml"
    gone = '<link:labelArc use="prohibited" xlink:from="loc_a" xlink:to="lab_a"/></link:labelLink>'
    path.write_text(path.read_text().replace("</link:labelLink>", gone))
    assert rows(build_us_gaap(release, tmp_path / "out").path)["Assets"]["label_source"] == "camel_case_split"


@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        ('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"),
        ('<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">', "&b;"),
        ('<!ENTITY % r SYSTEM "http://example.invalid/e.dtd"> %r;', ""),
    ],
)
def test_entities_are_refused(release, tmp_path, declaration, use):
    path = release / "elts" / "us-gaap-lab-2024.xml"
    bad = path.read_text().replace("?>", f"?><!DOCTYPE l [{declaration}]>", 1).replace("Total", use)
    path.write_text(bad)
    with pytest.raises(InputError, match="document type") as caught:
        build_us_gaap(release, tmp_path / "out")
    assert str(path) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_bad_input(release, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        build_us_gaap(tmp_path / "none", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no schema"):
        build_us_gaap(tmp_path / "empty", tmp_path / "out")
    with pytest.raises(InputError, match="no schema"):
        build_us_gaap(release, tmp_path / "out", prefix="ifrs")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(InputError, match="neither a folder nor a zip"):
        build_us_gaap(tmp_path / "text.zip", tmp_path / "out")
    (release / "broken.xsd").write_text("<xs:schema")
    with pytest.raises(InputError, match="not well-formed"):
        build_us_gaap(release, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_zip_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xsd", b" " * 60_000_000)
    with pytest.raises(InputError, match="too much"):
        build_us_gaap(path, tmp_path / "out")


def packed(release, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in sorted(release.rglob("*.x*")):
            archive.write(part, part.relative_to(release))
    return path


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(("limit", "value"), [("MAX_RELEASE", -1), ("MAX_PARTS", 2), ("MAX_FILE", 100)])
def test_all_parts_together_are_bounded(release, tmp_path, monkeypatch, limit, value, zipped):
    total = sum(p.stat().st_size for p in release.rglob("*.x*"))
    source = packed(release, tmp_path / "r.zip") if zipped else release
    monkeypatch.setattr(prepare_us_gaap, "MAX_RELEASE", total)
    monkeypatch.setattr(prepare_us_gaap, "MAX_PARTS", 3)
    assert len(rows(build_us_gaap(source, tmp_path / "fits").path)) == 4
    monkeypatch.setattr(prepare_us_gaap, limit, total - 1 if value < 0 else value)
    with pytest.raises(InputError, match=r"at most|larger than") as caught:
        build_us_gaap(source, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_part_that_cannot_be_unpacked_is_named(release, tmp_path):
    path = packed(release, tmp_path / "r.zip")
    data = bytearray(path.read_bytes())
    at = data.index(b"us-gaap-2024.xsd") + len(b"us-gaap-2024.xsd") + 40
    data[at : at + 20] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be unpacked") as caught:
        build_us_gaap(path, tmp_path / "out")
    assert "us-gaap-2024.xsd" in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "before", ["<!--" + "x" * 70_000 + "-->", "<?x " + "y" * 70_000 + "?>", "\n" * 70_000]
)
def test_entities_far_behind_are_refused(release, tmp_path, before, encoding):
    path = release / "elts" / "us-gaap-lab-2024.xml"
    declared = f'?>{before}<!DOCTYPE l [<!ENTITY a "ha">]>'
    text = path.read_text().replace("?>", declared, 1).replace("Total", "&a;")
    path.write_bytes(text.replace('encoding="utf-8"', f'encoding="{encoding}"').encode(encoding))
    with pytest.raises(InputError, match="document type"):
        build_us_gaap(release, tmp_path / "out")
    assert not (tmp_path / "out").exists()
