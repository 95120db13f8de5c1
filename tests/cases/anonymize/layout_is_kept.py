# strategy=ordered vocabulary=print,len
def  count_words( text ,*,limit = 10 ):   # text and limit are rare, the comment stays
    """limit is told here too, but a string is a string."""
    words = text \
        . split( )

    print ( f"{len(words)!r:>{limit}} words" , "limit" )
    return words[ : limit ]
# output
def  VAR1( VAR2 ,*,VAR3 = 10 ):   # text and limit are rare, the comment stays
    """limit is told here too, but a string is a string."""
    VAR4 = VAR2 \
        . VAR5( )

    print ( f"{len(VAR4)!r:>{VAR3}} words" , "limit" )
    return VAR4[ : VAR3 ]
