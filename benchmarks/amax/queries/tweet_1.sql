-- Q1, documents
SELECT count(*) FROM tweet_1;

-- Q2, ten users with the longest tweets
SELECT doc->'user'->>'screen_name', max(length(coalesce(doc->'extended_tweet'->>'full_text', doc->>'text'))) FROM tweet_1 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q2 of the short text
SELECT doc->'user'->>'screen_name', max(length(doc->>'text')) FROM tweet_1 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q3, ten users with most tweets of a hashtag
SELECT doc->'user'->>'screen_name', count(*) FROM tweet_1
WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'entities'->'hashtags') tag WHERE lower(tag->>'text') = 'jobs') GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q3 by containment
SELECT doc->'user'->>'screen_name', count(*) FROM tweet_1 WHERE doc @> '{"entities": {"hashtags": [{"text": "jobs"}]}}' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q3 by jsonpath
SELECT doc->'user'->>'screen_name', count(*) FROM tweet_1 WHERE doc @? '$.entities.hashtags[*] ? (@.text == "jobs")' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;
