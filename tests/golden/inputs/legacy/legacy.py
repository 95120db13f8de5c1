# A file for Python 2, which today's grammar cannot read.
import urllib2, sys


class Fetcher:
    def fetch(self, address, limit=0777):
        try:
            page = urllib2.urlopen(address).read(limit)
        except urllib2.URLError, error:
            print >>sys.stderr, "cannot read", address, `error`
            return None
        print "read", len(page), ur"characters"
        if len(page) <> limit:
            raise ValueError, "short"
        exec "result = page" in {}
        return page

    def pairs(self, mapping):
        for (key, value) in mapping.iteritems():
            yield key, value
        return
