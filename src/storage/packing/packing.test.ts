import { expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import type { KeyValue } from '../interface.ts';
import { passingValueOf, sizeOf, startOf } from '../value.ts';
import { plainValues, SimilarValues, type ValuePacking } from './index.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

function state(key: string, value: Uint8Array): KeyValue {
  return { key, value, createRevision: 1, modRevision: 2 };
}

/** Returns the text of a pod of a template; equal numbers give equal texts. */
function pod(number: number, more: object = {}): string {
  const fields = Array.from({ length: 60 }, (_, i) => [`f:field-${i}`, { 'f:type': {} }]);
  return JSON.stringify({
    metadata: { name: `web-${number}`, uid: `${number}`.repeat(7), ...more },
    managedFields: Object.fromEntries(fields),
    spec: { nodeName: `node-${number * 7}`, restartPolicy: 'Always' },
    status: { podIP: `10.0.0.${number}`, podIPs: [{ ip: `10.0.0.${number}` }] },
  });
}

/** Returns the state as it is kept some time after it was written. */
function pack(packing: ValuePacking, kv: KeyValue): KeyValue {
  const held = packing.hold(kv);
  packing.pack(held);
  return held;
}

const isPackedState = (kv: KeyValue): boolean => 'isPacked' in kv && kv.isPacked === true;

const isPacked = (packing: ValuePacking, kv: KeyValue): boolean => isPackedState(pack(packing, kv));

test('similar values are packed, and read as they were', () => {
  const packing = new SimilarValues();
  const values = [
    pod(1),
    pod(2),
    pod(123_456),
    pod(3, { labels: { added: 'a' } }),
    pod(4, { a: '"' }),
    `${pod(5)}and more`,
    pod(6).slice(0, 1500),
    `\u0000\u00e9${pod(7)}`,
    pod(1),
  ];
  const packed = values.map((value, i) => pack(packing, state(`/pods/web-${i}`, bytes(value))));
  expect(packed.map(isPackedState)).toEqual(values.map((_, i) => i > 0));
  // Twice: a read after that of another value makes the value again.
  for (let round = 0; round < 2; round++) {
    for (const [i, kv] of packed.entries()) {
      expect(Buffer.from(kv.value).toString()).toBe(values[i]);
      expect(sizeOf(kv)).toBe(Buffer.byteLength(values[i]!));
      expect([kv.key, kv.createRevision, kv.modRevision]).toEqual([`/pods/web-${i}`, 1, 2]);
    }
  }
});

test('a value that is read in passing is right until the next one is', () => {
  const packing = new SimilarValues();
  const texts = Array.from({ length: 5 }, (_, i) => pod(i, { extra: 'x'.repeat(i) }));
  const packed = texts.map((text, i) => pack(packing, state(`/pods/web-${i}`, bytes(text))));
  const passing = (i: number): string => Buffer.from(passingValueOf(packed[i]!)).toString();
  for (const i of [1, 1, 4, 2, 3, 0, 3]) expect(passing(i)).toBe(texts[i]);
  const kept = packed[1]!.value;
  expect(passing(1)).toBe(texts[1]);
  expect(passing(2)).toBe(texts[2]);
  expect(Buffer.from(kept).toString()).toBe(texts[1]);
});

test('each start of a packed value can be read alone', () => {
  const packing = new SimilarValues();
  pack(packing, state('/pods/a', bytes(pod(1))));
  const value = bytes(pod(22, { labels: { x: 'y' } }));
  const kv = pack(packing, state('/pods/b', value));
  for (let length = 0; length < value.length + 2; length++)
    expect(Buffer.compare(startOf(kv, length), value.subarray(0, length))).toBe(0);
  // A part that is like the model may be read from it.
  for (let from = 0; from < value.length; from += 3)
    for (const length of [from + 2, from + 40]) {
      const read = startOf(kv, length, from).subarray(from, length);
      expect(Buffer.compare(read, value.subarray(from, length))).toBe(0);
    }
});

test('patched values are those of the plain form, packed or not', () => {
  const packing = new SimilarValues();
  const value = bytes(pod(22));
  const plain: KeyValue[] = [state('/pods/b', value)];
  const kept: KeyValue[] = [packing.hold(plain[0]!)];
  pack(packing, state('/pods/a', bytes(pod(1))));
  const places = [[100, 300], [value.length - 2], [0, 20, 40]];
  for (let revision = 3; revision < 20; revision++) {
    const ofPatch = places[revision < 12 ? 0 : revision % 3]!;
    const texts = ofPatch.map((_place, i) => bytes(String((revision + i) % 100).padStart(2, '0')));
    const patch = { places: ofPatch, texts };
    plain.push(plainValues.patch(plain.at(-1)!, patch, revision));
    kept.push(packing.patch(kept.at(-1)!, patch, revision));
    if (revision === 8) for (const kv of kept) packing.pack(kv);
  }
  for (const read of [(kv: KeyValue) => kv.value, passingValueOf])
    for (const [i, kv] of plain.entries()) expect(Buffer.compare(read(kept[i]!), kv.value)).toBe(0);
  for (const [i, kv] of plain.entries()) {
    const { key, createRevision, modRevision } = kept[i]!;
    expect({ ...kv, key, createRevision, modRevision }).toEqual(kv);
    expect(sizeOf(kept[i]!)).toBe(value.length);
    for (const length of [10, 150, 310, value.length]) {
      const start = startOf(kept[i]!, length).subarray(0, length);
      expect(Buffer.compare(start, kv.value.subarray(0, length))).toBe(0);
    }
  }
});

test('any bytes are read as they were', () => {
  const random = new SeededRandom(7);
  const packing = new SimilarValues();
  const below = (limit: number): number => Math.floor(random.float() * limit);
  const piece = (): string => {
    const texts = [
      '"name":"',
      '","',
      '"uid":',
      '{',
      '}',
      '[',
      'x'.repeat(below(30)),
      '\\"',
      '\u00ff',
    ];
    return texts[below(texts.length)]!;
  };
  let value = Array.from({ length: 600 }, piece);
  let packed = 0;
  for (let i = 0; i < 500; i++) {
    // A few changes of the value before, and from time to time another one.
    if (i % 50 === 0) value = Array.from({ length: 600 }, piece);
    for (let change = below(5); change > 0; change--)
      value.splice(below(value.length), below(3), ...Array.from({ length: below(3) }, piece));
    const expected = Buffer.from(value.join(''), i % 2 === 0 ? 'utf8' : 'latin1');
    const kv = pack(packing, state(`/x/${i % 10}`, expected));
    if (isPackedState(kv)) packed++;
    expect(Buffer.compare(kv.value, expected)).toBe(0);
  }
  expect(packed).toBeGreaterThan(300);
});

test('values that are short, or like no other, stay as they are', () => {
  const packing = new SimilarValues();
  const random = new SeededRandom(1);
  const noise = (): Uint8Array =>
    Buffer.from(Array.from({ length: 4000 }, () => Math.floor(random.float() * 256)));
  pack(packing, state('/a/1', bytes(pod(1))));
  expect(isPacked(packing, state('/a/2', bytes(pod(2).slice(0, 250))))).toBe(false);
  expect(isPacked(packing, state('/a/3', noise()))).toBe(false);
  expect(isPacked(packing, state('/b/4', bytes(pod(4))))).toBe(false);
  expect(isPacked(packing, state('/b/5', bytes(pod(5))))).toBe(true);
  expect(isPacked(packing, state('/c/6', bytes('"'.repeat(100_000))))).toBe(false);
  expect(isPacked(packing, state('/c/7', bytes('"'.repeat(100_000))))).toBe(false);
  expect(isPacked(plainValues, state('/b/8', bytes(pod(5))))).toBe(false);
});

test('values that stay do not keep the buffer that they were cut from', () => {
  const large = Buffer.alloc(100_000);
  for (const length of [10, 5000]) {
    const { value } = pack(new SimilarValues(), state('/a/b', large.subarray(0, length)));
    expect(value.buffer.byteLength).toBeLessThan(10_000);
  }
});

test('a short value does not keep a long model in memory', () => {
  const packing = new SimilarValues();
  pack(packing, state('/a/1', bytes(pod(1) + 'x'.repeat(13_000))));
  expect(isPacked(packing, state('/a/2', bytes(pod(2))))).toBe(false);
});

test('the search in a model whose places all have one hash is bounded', () => {
  const packing = new SimilarValues();
  const began = process.cpuUsage();
  for (let i = 0; i < 100; i++) {
    pack(packing, state('/a/1', bytes('"1234567'.repeat(2000))));
    pack(packing, state('/a/2', bytes('"1234567 '.repeat(1800))));
  }
  const { user } = process.cpuUsage(began);
  expect(user).toBeLessThan(400_000);
});

test('values that are longer than 16 KiB stay as they are', () => {
  const packing = new SimilarValues();
  pack(packing, state('/a/1', bytes(pod(1) + 'x'.repeat(20_000))));
  expect(isPacked(packing, state('/a/2', bytes(pod(1) + 'x'.repeat(20_000))))).toBe(false);
});
