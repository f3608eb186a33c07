"""A page of inline XBRL with one table."""

from __future__ import annotations


def filing(name, year, values, company="Acme Widgets Inc.", extra=""):
    rows = "".join(
        f'<tr><td>{label}</td><td>$</td><td><ix:nonFraction name="{tag}" contextRef="c" unitRef="usd">{value}'
        f'</ix:nonFraction></td><td>$</td><td><ix:nonFraction name="{tag}" contextRef="p" unitRef="usd">'
        f"{before}</ix:nonFraction></td></tr>"
        for label, tag, value, before in values
    )
    return f"""<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:us-gaap="http://fasb.org/us-gaap/{year}"><body><div style="display:none"><ix:header><ix:hidden>
<ix:nonNumeric name="dei:EntityRegistrantName" contextRef="c">{company}</ix:nonNumeric></ix:hidden>
</ix:header></div>
<p>Statement {name} (in millions)</p>
<table><tr><td></td><td colspan="2">{year}</td><td colspan="2">{int(year) - 1}</td></tr>{rows}</table>{extra}
</body></html>"""
