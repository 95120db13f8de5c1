# strategy=by_frequency vocabulary=range
for row in range(rows):
    total = total + row * row
# output
for VAR1 in range(VAR3):
    VAR2 = VAR2 + VAR1 * VAR1
