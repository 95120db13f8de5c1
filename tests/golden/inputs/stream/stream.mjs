// Modules, async iteration, default values, logical assignment, big numbers, tagged templates.
import fs, { createReadStream as openStream } from 'node:fs';
import settings from './settings.json' with { type: 'json' };
export * as helpers from './helpers.mjs';
export { fs as default, settings };

const LIMIT = 9_007n ** 2n;
export const sql = (strings, ...values) => strings.raw.map((text, i) => text + (values[i] ?? '')).join('');

export async function* linesOf(path, { encoding = 'utf-8', maxLength = 1e3 } = {}) {
  let rest = '';
  for await (const chunk of openStream(path, { encoding })) {
    const lines = (rest + chunk).split(/\r?\n/u);
    rest = lines.pop();
    for (const line of lines) if (line.length <= maxLength) yield line;
  }
  if (rest) yield rest;
}

export async function countLines(paths, options) {
  const counts = new Map();
  await Promise.all(paths.map(async (path) => {
    let count = 0;
    for await (const line of linesOf(path, options)) count += line.trim() ? 1 : 0;
    counts.set(path, count);
  }));
  return counts;
}

export function memoize(compute, keyOf = (...args) => args[0]) {
  const cache = Object.create(null);
  return function memoized(...args) {
    const key = keyOf(...args);
    return (cache[key] ??= compute.apply(this, args));
  };
}

export async function loadPlugin(name, fallback) {
  try {
    const { default: plugin } = await import(`./plugins/${name}.mjs`);
    return plugin ?? fallback;
  } catch {
    return fallback;
  }
}

export const query = (table, id) => sql`select * from ${table} where id = ${id} and name = '\u{1F600}'`;

const retry = async (task, attempts = 3, delay = 100) => {
  let lastError;
  while (attempts-- > 0) {
    try { return await task(attempts); } catch (error) { lastError = error; }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
  throw Object.assign(lastError, { url: import.meta.url, LIMIT });
};

let größe = 0, [head = 1, , ...tail] = [1, 2, 3], { a: { b: deep } = {}, ['c' + 1]: computed } = {};
größe ||= head && !tail?.length, größe **= 2, größe >>>= 1;
