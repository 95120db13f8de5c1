/* A queue in the style of long ago: var, prototypes, closures, labels. */
(function (root, factory) {
  if (typeof define === 'function' && define.amd) {
    define(['events'], factory);
  } else if (typeof exports === 'object') {
    module.exports = factory(require('events'));
  } else {
    root.Queue = factory(root.events);
  }
}(this, function (events) {
  var undefined_ = void 0, pattern = /^[a-z\/]+\/(\d+)$/gi;

  function Queue(capacity, onOverflow) {
    if (!(this instanceof Queue)) return new Queue(capacity, onOverflow);
    this.capacity = capacity || Infinity;
    this.onOverflow = onOverflow;
    this.items = [];
  }

  Queue.prototype.push = function push(item) {
    var dropped;
    if (this.items.length >= this.capacity) {
      dropped = this.items.shift();
      if (this.onOverflow) this.onOverflow(dropped);
    }
    this.items.push(item);
    return this.items.length;
  };

  Queue.prototype.each = function (callback, context) {
    for (var i = 0, length = this.items.length; i < length; i++) {
      if (callback.call(context || this, this.items[i], i) === false) break;
    }
  };

  Queue.prototype.drain = function (handler) {
    var self = this, failures = [];
    do {
      try {
        handler(self.items.shift());
      } catch (error) {
        failures.push(error);
      } finally {
        self.drained = Date.now();
      }
    } while (self.items.length > 0);
    return failures;
  };

  function findPair(numbers, sum) {
    outer:
    for (var first = 0; first < numbers.length; first++) {
      for (var second = first + 1; second < numbers.length; second++) {
        if (numbers[first] + numbers[second] > sum) continue outer;
        if (numbers[first] + numbers[second] === sum) break outer;
      }
    }
    return first < numbers.length ? [numbers[first], numbers[second]] : null;
  }

  function copy(source, target) {
    for (var key in source) {
      if (Object.prototype.hasOwnProperty.call(source, key)) target[key] = source[key];
    }
    delete target.parent, target['length'];
    return target;
  }

  function debounce(callback, delay) {
    var timer = null;
    return function () {
      var context = this, args = arguments;
      clearTimeout(timer);
      timer = setTimeout(function () { callback.apply(context, args); }, delay);
    };
  }

  return { Queue: Queue, findPair: findPair, copy: copy, debounce: debounce, pattern: pattern, nothing: undefined_ };
}));
