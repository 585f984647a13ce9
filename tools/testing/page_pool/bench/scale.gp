# SPDX-License-Identifier: GPL-2.0
#
# gnuplot -e "dir='...'" scale.gp: the model of many CPUs beside what was
# published, and what it predicts, from the tables that scale has written
set terminal svg noenhanced size 1150,520 font "sans,12" background "white"
set datafile separator "\t"
set output dir."/scale.svg"
set grid ytics lc rgb "#dddddd"
set multiplot layout 1,2

set title "a lock per page: published and model"
set ylabel "ns per page on each returner"
set xlabel "returners (year)"
set logscale y
set yrange [10:10000]
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8 border lc rgb "#555555"
set key top left
plot dir."/scale-check.dat" using 2:xtic(1) title "published" lc rgb "#bbbbbb", \
     "" using 3 title "model" lc rgb "#6699cc"

set title "predicted: one CPU allocates, all others put"
set ylabel "million pages per second, all together"
set xlabel "CPUs"
unset logscale y
set yrange [0:*]
set logscale x 2
set xrange [3:160]
set xtics (4, 8, 16, 32, 64, 128)
set key right center
set style data linespoints
plot dir."/scale.dat" using 1:3 title "ours, one socket" lc rgb "#336699" pt 7, \
     "" using 1:5 title "ours, two sockets" lc rgb "#6699cc" pt 6, \
     "" using 1:2 title "base, one socket" lc rgb "#555555" pt 5, \
     "" using 1:4 title "base, two sockets" lc rgb "#aaaaaa" pt 4
unset multiplot
