"""What is published: titles, authors and where they work, fields, abstracts and funding, as a converter makes JSON of XML. What is there once is an object
(or a string), what is there more often an array of them: unions. Some 300 paths, most of the bytes in abstracts, 6.2 kB."""

from .words import WORDS, name, paragraph, text


def _listed(names):
    return [name.strip() for name in names.split(",")]


# What occurs most often first; with shares that fall like one over the rank.
COUNTRIES = _listed("""USA, Peoples R China, England, Germany, Japan, France, Canada, Italy, Spain, Australia, India, South Korea, Netherlands, Brazil, Sweden,
    Switzerland, Poland, Turkey, Belgium, Russia, Israel, Denmark, Austria, Finland, Norway, Mexico, Portugal, Greece, Iran, Egypt""")
FIELDS = _listed("""Engineering, Chemistry, Physics, Computer Science, Materials Science, Mathematics, Neurosciences & Neurology,
    Biochemistry & Molecular Biology, Oncology, Surgery, Pharmacology & Pharmacy, Psychology, Environmental Sciences & Ecology, Plant Sciences,
    Astronomy & Astrophysics, Business & Economics, Immunology, Optics, Geology, Agriculture, Education & Educational Research, Mechanics,
    Cell Biology, Genetics & Heredity, Zoology, History, Literature, Philosophy""")
TITLES = ("source", "source_abbrev", "abbrev_iso", "abbrev_11", "abbrev_29", "item")
# What few publications have: an object for each, with paths of its own.
RARE = _listed("""book_notes, book_series, chapters, conference, contributors, corporate, editions, errata, fees, holdings, legal, links, normalized,
    patents, pagination, reprint_contact, research_areas, reviews, sponsors, supplements, translations, use_counts""")
RARE_KEYS = ("code", "count", "date", "kind", "label", "note", "url", "value")


def document(random, number):
    year = 1980 + number % 35
    authors = min(int(random.paretovariate(1.1)), 30)
    identifier = f"WOS:{number:015d}"
    summary = {
        "EWUID": {
            "WUID": {"coll_id": "WOS"},
            "edition": one_or_more([{"value": f"WOS.{code}"} for code in random.sample(("SCI", "SSCI", "AHCI", "ISTP"), random.choice((1, 1, 1, 2)))]),
        },
        "pub_info": {
            "pubyear": year,
            "pubmonth": random.choice(("JAN", "APR", "JUL", "OCT")),
            "vol": random.randint(1, 200),
            "issue": str(random.randint(1, 12)),
            "sortdate": f"{year}-{random.randint(1, 12):02d}-01",
            "has_abstract": "Y",
            "coverdate": f"{year}",
            "pubtype": "Journal",
            "page": {"begin": random.randrange(2000), "end": random.randrange(2000, 2030), "page_count": random.randint(1, 30)},
        },
        "titles": {"count": len(TITLES), "title": [{"type": kind, "content": text(random, 90 if kind == "item" else 40)} for kind in TITLES]},
        "names": {"count": authors, "name": one_or_more([author(random, at + 1) for at in range(authors)])},
        "doctypes": {"count": 1, "doctype": "Article" if random.random() < 0.8 else ["Article", "Proceedings Paper"]},
        "publishers": {
            "publisher": {
                "address_spec": {"full_address": text(random, 50), "city": random.choice(WORDS).upper()},
                "names": {"count": 1, "name": {"display_name": name(random).upper(), "role": "publisher"}},
            }
        },
    }
    if random.random() < 0.2:
        summary["conferences"] = {
            "count": 1,
            "conference": {
                "conf_id": random.randrange(100_000),
                "conf_titles": {"conf_title": text(random, 60)},
                "conf_dates": {"conf_date": {"conf_start": year * 10_000 + 601, "conf_end": year * 10_000 + 605}},
                "conf_locations": {"conf_location": {"conf_city": random.choice(WORDS).upper(), "conf_state": random.choice(WORDS).upper()}},
                "sponsors": {"sponsor": one_or_more([text(random, 20) for _ in range(random.randint(1, 3))])},
            },
        }
    return {
        "UID": identifier,
        "static_data": {"summary": summary, "fullrecord_metadata": metadata(random, authors), "item": item(random)},
        "dynamic_data": dynamic(random, identifier),
    }


def metadata(random, authors):
    found = {
        "languages": {"count": 1, "language": {"type": "primary", "content": "English" if random.random() < 0.93 else "German"}},
        "refs": {"count": random.randint(5, 80)},
        "addresses": addresses(random, authors),
        "category_info": {
            "headings": {"count": 1, "heading": "Science & Technology"},
            "subheadings": {"count": 1, "subheading": one_or_more(["Physical Sciences", "Technology"][: random.randint(1, 2)])},
            "subjects": subjects(random),
        },
        "abstracts": {
            "count": 1,
            "abstract": {
                "abstract_text": {"count": 1, "p": one_or_more([paragraph(random, random.randint(7, 14)) for _ in range(random.choice((1, 1, 1, 1, 3)))])}
            },
        },
    }
    if random.random() < 0.6:
        found["keywords"] = {"keyword": one_or_more([text(random, random.randint(6, 24)) for _ in range(random.randint(1, 7))])}
    if random.random() < 0.4:
        grants = [
            {
                "grant_agency": text(random, 40),
                "grant_ids": {
                    "count": 1,
                    "grant_id": one_or_more([f"{random.choice(WORDS).upper()}-{random.randrange(100_000)}" for _ in range(random.choice((1, 1, 2)))]),
                },
            }
            for _ in range(random.randint(1, 4))
        ]
        found["fund_ack"] = {"fund_text": {"p": paragraph(random, 3)}, "grants": {"count": len(grants), "grant": one_or_more(grants)}}
    for key in RARE:
        if random.random() < 0.02:
            found[key] = {inner: random.randrange(1000) if inner == "count" else text(random, 16) for inner in random.sample(RARE_KEYS, 6)}
    return found


def addresses(random, authors):
    """One for each author, an object if that is one (§6.4, wos); co-authors are often of one country."""
    country, found = ranked(random, COUNTRIES), []
    for at in range(authors):
        if random.random() < 0.3:
            country = ranked(random, COUNTRIES)
        city, street = random.choice(WORDS).title(), text(random, 20)
        spec = {
            "addr_no": at + 1,
            "full_address": f"{street}, {city}, {country}",
            "city": city,
            "country": country,
            "organizations": {"count": 1, "organization": one_or_more([text(random, 24) for _ in range(random.choice((1, 1, 2)))])},
            "suborganizations": {"count": 1, "suborganization": text(random, 20)},
        }
        if country == "USA":
            spec |= {"state": random.choice(("CA", "NY", "MA", "TX")), "zip": {"location": "AP", "content": f"{random.randrange(100_000):05d}"}}
        found.append(
            {"address_spec": spec, "names": {"count": 1, "name": {"addr_no": at + 1, "seq_no": at + 1, "role": "author", "display_name": name(random)}}}
        )
    return {"count": authors, "address_name": one_or_more(found)}


def subjects(random):
    fields = list(dict.fromkeys(ranked(random, FIELDS) for _ in range(random.choice((1, 1, 2, 3)))))
    found = [{"ascatype": "traditional", "code": field[:2].upper(), "content": field.split(" & ")[0]} for field in fields] + [
        {"ascatype": "extended", "content": field} for field in fields
    ]
    # Of some only the extended one is known.
    return {"count": len(found), "subject": one_or_more(found[-1:] if random.random() < 0.1 else found)}


def author(random, number):
    given, family = name(random).split()
    found = {
        "seq_no": number,
        "role": "author",
        "reprint": "Y" if number == 1 else "N",
        "display_name": f"{family}, {given}",
        "full_name": f"{family}, {given}",
        "wos_standard": f"{family}, {given[0]}",
        "first_name": given,
        "last_name": family,
        "addr_no": number,
    }
    if random.random() < 0.3:
        found["email_addr"] = f"{given}@{family}.example".lower()
    if random.random() < 0.1:
        found |= {
            "r_id": f"{random.choice('ABCDEFG')}-{random.randrange(10_000)}-2010",
            "orcid_id": f"0000-000{random.randrange(10)}-{random.randrange(10_000):04d}",
        }
    return found


def item(random):
    found = {
        "coll_id": "WOS",
        "ids": {"avail": "Y", "content": f"{random.randrange(1_000_000):06d}"},
        "bib_id": text(random, 24),
        "bib_pagecount": {"type": "Journal", "content": random.randint(60, 900)},
    }
    if random.random() < 0.3:
        found["keywords_plus"] = {"count": 3, "keyword": [text(random, 14).upper() for _ in range(3)]}
    return found


def dynamic(random, identifier):
    kinds = ["accession_no", "issn", "doi", "pmid", "art_no"][: random.randint(1, 5)]
    return {
        "citation_related": {"tc_list": {"silo_tc": {"coll_id": "WOS", "local_count": int(random.paretovariate(0.9))}}},
        "cluster_related": {
            "identifiers": {"identifier": one_or_more([{"type": kind, "value": f"{identifier}/{kind}/{random.randrange(1_000_000)}"} for kind in kinds])}
        },
    }


def one_or_more(values):
    """What the converter makes of elements of one name."""
    return values[0] if len(values) == 1 else values


def ranked(random, values):
    return values[min(int(len(values) ** random.random()) - 1, len(values) - 1)]
