\set key random(0, :rows - 1)
