# strategy=ordered vocabulary=os,path
from my_package.tools import helper as h, other
import os.path as osp, my_module
class Thing(other.Base, metaclass=Meta):
    async def run(self, /, *args, **options):
        global counter
        try:
            counter += (total := 1)
        except (KeyError, h.Problem) as problem:
            raise Thing(cause=problem) from None
# output
from VAR1 import VAR2 as VAR3, VAR4
import VAR5 as VAR6, VAR7
class VAR8(VAR4.VAR9, VAR10=VAR11):
    async def VAR12(VAR13, /, *VAR14, **VAR15):
        global VAR16
        try:
            VAR16 += (VAR17 := 1)
        except (VAR18, VAR3.VAR19) as VAR20:
            raise VAR8(VAR21=VAR20) from None
