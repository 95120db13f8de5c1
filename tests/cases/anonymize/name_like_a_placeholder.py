# strategy=ordered vocabulary=VAR1,print
mine = 1
VAR1 = 2
print(mine, VAR1)
# output
VAR1 = 1
VAR2 = 2
print(VAR1, VAR2)
