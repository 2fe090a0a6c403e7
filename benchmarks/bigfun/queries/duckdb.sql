-- Q9, within a circle
SELECT screen_name, message_text FROM chirps WHERE sqrt((latitude - {latitude}) ** 2 + (longitude - {longitude}) ** 2) <= {radius};

-- Q11, texts with a similar word, levenshtein
SELECT send_time, message_text FROM chirps
WHERE len(list_filter(string_split(translate(message_text, ',:', ''), ' '), lambda word: levenshtein(word, '{word}') <= 1)) > 0 ORDER BY 1 DESC, 2 LIMIT 10;

-- Q16, near ones
SELECT chirpid, text
FROM (SELECT c.chirpid, n.message_text AS text,
    row_number() OVER (PARTITION BY c.chirpid ORDER BY sqrt((n.latitude - c.latitude) ** 2 + (n.longitude - c.longitude) ** 2) DESC, n.chirpid) AS place
    FROM chirps c JOIN chirps n ON n.chirpid <> c.chirpid AND sqrt((n.latitude - c.latitude) ** 2 + (n.longitude - c.longitude) ** 2) <= {radius}
    WHERE c.send_time >= '{since}' AND c.send_time < '{until}') x
WHERE place <= 10;
