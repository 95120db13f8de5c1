// strategy=ordered vocabulary=console,log
const { first, second: renamed = 2, ...others } = load(path); // first stays here
class Queue extends Base {
  #items = [];
  get size() { return this.#items.length; }
  push(item, index) { this.#items[index] = `${item} of ${others?.size}`; }
}
const text = { first, 'second': 1, third() {} };
console.log(text.first, /first/g);
// output
const { VAR1, VAR2: VAR3 = 2, ...VAR4 } = VAR5(VAR6); // first stays here
class VAR7 extends VAR8 {
  #VAR9 = [];
  get VAR10() { return this.#VAR9.VAR11; }
  VAR12(VAR13, VAR14) { this.#VAR9[VAR14] = `${VAR13} of ${VAR4?.VAR10}`; }
}
const VAR15 = { VAR1, 'VAR2': 1, VAR16() {} };
console.log(VAR15.VAR1, /first/g);
