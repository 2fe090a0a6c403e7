-- The same documents go into amax and, for comparison, into heap.
CREATE EXTENSION amax;
CREATE TABLE crates (doc jsonb) USING amax;
CREATE TABLE npm (doc jsonb) USING amax;
CREATE TABLE crates_heap (doc jsonb) USING heap;
CREATE TABLE npm_heap (doc jsonb) USING heap;
