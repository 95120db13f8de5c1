# strategy=ordered vocabulary=print
größe = "größe"; 변수 = größe; print(变量=변수)
# output
VAR1 = "größe"; VAR2 = VAR1; print(VAR3=VAR2)
