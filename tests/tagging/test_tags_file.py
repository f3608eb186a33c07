"""A tags file says and keeps what the reader learned of each value."""

import pytest
from abduce.retrievers.errors import InputError
from abduce.tagging.tags_file import READ, read_tags

LINE = (
    "fact_id,value,concept,row_header,modality,scale,unit,stated,place\n"
    "f1,5,Goodwill,Goodwill,table,{},USD,table: (in millions),Sheet!B2\n"
)


def written(tmp_path, scale):
    path = tmp_path / "tags.csv"
    path.write_text(LINE.format(scale), encoding="utf-8")
    return path


@pytest.mark.parametrize(("scale", "power"), [("6", 6), ("-2", -2), ("'-2", -2), ("6.0", 6), ("", None)])
def test_scale_unit_and_place_are_read_back(tmp_path, scale, power):
    (tagged,) = read_tags(written(tmp_path, scale))
    found = [getattr(tagged.fact, name) for name in READ]
    assert found == [power, "USD", "table: (in millions)", "Sheet!B2"]


@pytest.mark.parametrize("scale", ["million", "6.5", "1e400", "99999"])
def test_a_scale_that_is_none_is_refused_in_a_line(tmp_path, scale):
    with pytest.raises(InputError, match=r"tags\.csv:2: .*scale.*is no power of ten"):
        list(read_tags(written(tmp_path, scale)))
