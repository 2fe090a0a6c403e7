-- Q1, documents
SELECT count(*) FROM wos;

-- Q2, ten fields with most publications
SELECT subject->>'content', count(*)
FROM wos, LATERAL (SELECT doc->'static_data'->'fullrecord_metadata'->'category_info'->'subjects'->'subject' AS found) s,
    jsonb_array_elements(CASE jsonb_typeof(found) WHEN 'array' THEN found ELSE jsonb_build_array(found) END) subject
WHERE subject->>'ascatype' = 'extended' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q2 by jsonpath
SELECT field #>> '{}', count(*)
FROM wos, jsonb_path_query(doc, '$.static_data.fullrecord_metadata.category_info.subjects.subject[*] ? (@.ascatype == "extended").content') field
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q3, ten countries with most publications in common with the USA
SELECT country, count(*)
FROM wos, LATERAL (SELECT doc->'static_data'->'fullrecord_metadata'->'addresses'->'address_name' AS found) a,
    LATERAL (SELECT array_agg(DISTINCT address->'address_spec'->>'country') AS countries
        FROM jsonb_array_elements(CASE jsonb_typeof(found) WHEN 'array' THEN found ELSE '[]' END) address) c,
    unnest(countries) country
WHERE jsonb_typeof(found) = 'array' AND 'USA' = ANY (countries) AND country <> 'USA' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q3 by jsonpath
SELECT country, count(*)
FROM wos, LATERAL (SELECT DISTINCT found #>> '{}' AS country
    FROM jsonb_path_query(doc, '$.static_data.fullrecord_metadata.addresses.address_name[*].address_spec.country') found) c
WHERE doc @? '$.static_data.fullrecord_metadata.addresses.address_name[*] ? (@.address_spec.country == "USA")' AND country <> 'USA' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q4, ten pairs of countries with most publications in common
SELECT one, other, count(*)
FROM wos, LATERAL (SELECT doc->'static_data'->'fullrecord_metadata'->'addresses'->'address_name' AS found) a,
    LATERAL (SELECT array_agg(DISTINCT address->'address_spec'->>'country') AS countries
        FROM jsonb_array_elements(CASE jsonb_typeof(found) WHEN 'array' THEN found ELSE '[]' END) address) c,
    unnest(countries) one, unnest(countries) other
WHERE one < other GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10;
