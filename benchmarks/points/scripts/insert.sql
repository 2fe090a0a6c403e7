\set n random(1, :templates)
INSERT INTO points SELECT nextval('ids'), clock_timestamp(), doc FROM templates WHERE n = :n;
