'use strict';
// A shopping cart: classes, destructuring, templates, closures.

const TAX_RATES = { standard: 0.19, reduced: .07, [`spec${'ial'}`]: 0, 'no-tax': 0x0 };
let nextNumber = 1_000;

class Money {
  static #zero = new Money(0);
  static { Money.created = 0; }
  #cents;
  currency = 'EUR';

  constructor(cents, currency = 'EUR') {
    this.#cents = cents;
    this.currency = currency;
  }

  get cents() { return this.#cents; }
  set cents(amount) { if (!Number.isInteger(amount)) throw new TypeError(`not whole: ${amount}`); this.#cents = amount; }

  static sum(...amounts) {
    return amounts.reduce((total, amount) => total.plus(amount), Money.#zero);
  }

  plus(other) {
    return new Money(this.#cents + other.#cents, this.currency ?? other?.currency);
  }

  has(other) { return #cents in other; }

  toString() {
    return `${(this.#cents / 100).toFixed(2)} ${this.currency}`;
  }
}

class Cart extends Array {
  constructor(owner, ...items) {
    super(...items);
    this.owner = owner;
    this.number = nextNumber++;
  }

  addItem({ sku, price, quantity: count = 1, ...rest }) {
    const existing = this.find((item) => item.sku === sku);
    if (existing) {
      existing.quantity += count;
    } else {
      this.push({ sku, price, quantity: count, ...rest });
    }
    return this;
  }

  total(rate = TAX_RATES.standard) {
    let cents = 0;
    for (const { price, quantity } of this) {
      cents += price.cents * quantity;
    }
    const tax = Math.round(cents * rate);
    return [cents, tax, cents + tax];
  }

  *expensive(minimum) {
    for (const [index, item] of this.entries()) {
      if (item.price.cents >= minimum) yield [index, item];
    }
    yield* [];
  }
}

function discountFor(customer, cart) {
  switch (customer?.kind) {
    case 'staff':
      return 0.2;
    case 'loyal': {
      const [cents] = cart.total(0);
      return cents > 10000 ? 0.1 : 0.05;
    }
    default:
      return customer?.['vip'] ? 0.3 : 0;
  }
}

const groupBy = (items, keyOf) => {
  const groups = new Map();
  items.forEach((item) => {
    const key = keyOf(item);
    (groups.get(key) ?? groups.set(key, []).get(key)).push(item);
  });
  return groups;
};

module.exports = { Money, Cart, discountFor, groupBy, version: '1.0', get count() { return nextNumber; } };
