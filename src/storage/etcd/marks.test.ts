import { expect, test } from 'vitest';
import { Marks, withoutMark } from './marks.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const UUIDS = ['6f1c2a34-9d1e-4b7a-8c55-0123456789ab', '6f1c2a34-9d1e-4b7a-8c55-0123456789ac'];

test('a mark is white space after the object, another one for each process and write', () => {
  const value = bytes('{"a":1}');
  const marks = UUIDS.map((uuid) => new Marks(uuid));
  const marked = marks.flatMap((each) => Array.from({ length: 300 }, () => each.mark(value)!));
  const texts = marked.map((each) => new TextDecoder().decode(each));
  expect(new Set(texts).size).toBe(600);
  expect(texts.map((text) => text.trimEnd())).toEqual(texts.map(() => '{"a":1}'));
  expect(marked.map((each) => Buffer.from(withoutMark(each)).toString())).toEqual(
    texts.map(() => '{"a":1}'),
  );
});

test.each(['', '1', '{', '[1]', '{"a":1}\n', 'k8s:enc:aesgcm:v1:key:}', 'k8s\0}'])(
  '%j has no mark',
  (text) => {
    expect(new Marks(UUIDS[0]!).mark(bytes(text))).toBeUndefined();
  },
);

test.each([
  '{}',
  '{}\n',
  `{}${' '.repeat(31)}`,
  `{}${' '.repeat(33)}`,
  `{}x${' '.repeat(31)}`,
  `[]${' '.repeat(32)}`,
])('%j is as it was written', (text) => {
  expect(Buffer.from(withoutMark(bytes(text))).toString()).toBe(text);
});
