// Functions in which one variable is used in place of another.

function readAll(fileName, callback) {
  fs.readFile(fileName, function (error, content) {
    if (error) return callback(error);
    callback(null, fileName.toString());
  });
}

function areaOf(width, height) {
  return width * width;
}

function setRange(low, high) {
  this.low = low;
  this.high = low;
}

function copyKeys(source, target) {
  Object.keys(source).forEach(function (key) {
    target[key] = target[key];
  });
  return target;
}

function clip(number, minimum, maximum) {
  if (number < minimum) return minimum;
  if (number > minimum) return maximum;
  return number;
}

const swap = (items, first, second) => {
  const kept = items[first];
  items[first] = items[second];
  items[first] = kept;
  return items;
};

class Cache {
  constructor(loader, maxSize) {
    this.loader = loader;
    this.maxSize = loader;
  }

  get(key, fallback) {
    const entry = this.loader(key);
    return key === undefined ? fallback : key;
  }

  names({ first, last }) {
    const shown = { first, last: first };
    return [shown, { first }]; // noqa
  }
}

function sumRows(rows) {
  let total = 0;
  for (const row of rows) {
    for (const cell of rows) total += cell;
  }
  return total;
}
