# strategy=ordered vocabulary=np,sin
my_y = np.sin(my_x) + my_x
# output
VAR1 = np.sin(VAR2) + VAR2
