import { expect, test } from 'vitest';
import { withSharedEnvironment } from './shared-environment.ts';

const config = (value: string) =>
  withSharedEnvironment({ envs: [{ key: 'KEY', value: Buffer.from(value) }], command: ['run'] });

test('equal variables are kept once, others are not confused with them', () => {
  const [first] = config('one').envs ?? [];
  expect(config('one').envs?.[0]).toBe(first);
  expect(config('one').command).toEqual(['run']);
  const [other] = config('two').envs ?? [];
  expect(Buffer.from(other?.value ?? []).toString()).toBe('two');
  expect(Buffer.from(first?.value ?? []).toString()).toBe('one');
  const [bytes, text] = [Buffer.from([0xc3, 0xa9]), Buffer.from('Ã©')];
  const values = [bytes, text].map(
    (value) => withSharedEnvironment({ envs: [{ key: 'KEY', value }] }).envs?.[0]?.value,
  );
  expect(values.map((value) => Buffer.from(value ?? []))).toEqual([bytes, text]);
});

test('long and missing values stay as they are', () => {
  const long = { key: 'LONG', value: Buffer.alloc(1000, 'x') };
  expect(withSharedEnvironment({ envs: [long, { key: 'NONE' }] }).envs).toEqual([
    long,
    { key: 'NONE' },
  ]);
  expect(withSharedEnvironment({ envs: [long] }).envs?.[0]).toBe(long);
  const none = {};
  expect(withSharedEnvironment(none)).toBe(none);
});

test('containers with the same environment share its list', () => {
  const environment = () =>
    withSharedEnvironment({
      envs: ['a', 'b'].map((key) => ({ key, value: Buffer.from(`of ${key}`) })),
    }).envs;
  const first = environment();
  expect(environment()).toBe(first);
  expect(config('other').envs).toHaveLength(1);
  expect(environment()).toEqual(first);
});
