# strategy=full vocabulary=range,row
for row in range(3):
    print(row, None, "row")
# output
for VAR1 in VAR2(3):
    VAR3(VAR1, None, "row")
