# SPDX-License-Identifier: GPL-2.0
#
# gnuplot -e "dir='...'" ratios.gp: the ratios of all lines, and the cross-CPU
# lines, from the tables that bench has written
set terminal svg noenhanced size 1150,640 font "sans,12" background "white"
set datafile separator "\t"
set grid ytics lc rgb "#dddddd"
set style fill solid 0.8 border lc rgb "#555555"

set output dir."/ratios.svg"
set title "page pool: TSC cycles per page, ours / base (bar: median, line: 10th to 90th percentile)"
set ylabel "ours / base"
set rmargin 10
set yrange [0:1.4]
set xtics rotate by -45 nomirror
set boxwidth 0.7
set key top right
plot 1 lc rgb "#999999" notitle, \
     dir."/ratios.dat" using 0:2:xtic(1) with boxes lc rgb "#6699cc" title "measured", \
     "" using 0:2:3:4 with yerrorbars pt 0 lc rgb "#333333" notitle, \
     "" using 0:5 with points pt 9 ps 0.9 lc rgb "#cc3333" title "goal"

set output dir."/cross.svg"
set title "page pool: pages put on other CPUs, TSC cycles per page (4 returners: more threads than CPUs)"
set ylabel "cycles per page"
set yrange [1:*]
set logscale y
set style data histograms
set style histogram clustered gap 1
set xtics norotate
set rmargin 3
plot dir."/cross.dat" using 2:xtic(1) title "base" lc rgb "#bbbbbb", \
     "" using 3 title "ours" lc rgb "#6699cc"
