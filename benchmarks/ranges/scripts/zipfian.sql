-- YCSB's ScrambledZipfianGenerator: a rank by the method of Gray et al. (random_zipfian() takes no theta below 1), the popular keys spread over all.
\set u random(0, 999999999) / 1000000000.0
\set rank case when :u * :zeta < 1 then 0 when :u * :zeta < 1 + pow(0.5, :theta) then 1 else int(:rows * pow(:eta * :u - :eta + 1, 1 / (1 - :theta))) end
\set key permute(least(:rank, :rows - 1), :rows, 99)
