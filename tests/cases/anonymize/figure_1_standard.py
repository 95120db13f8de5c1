# strategy=standard vocabulary=np,sin
my_y = np.sin(my_x) + my_x
# output
UNK = np.sin(UNK) + UNK
