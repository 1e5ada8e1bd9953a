import { expect, test } from 'vitest';
import { rebase } from './rebase.ts';

const base = { spec: { replicas: 2, image: 'a', list: [1] }, labels: { x: '1', gone: 'y' } };

test('changes of both are kept', () => {
  const mine = { spec: { replicas: 5, image: 'a', list: [1] }, labels: { x: '1' } };
  const latest = {
    spec: { replicas: 2, image: 'b', list: [1] },
    labels: { x: '1', gone: 'y', z: '3' },
  };
  expect(rebase<object>(base, mine, latest)).toEqual({
    value: { spec: { replicas: 5, image: 'b', list: [1] }, labels: { x: '1', z: '3' } },
    conflicts: [],
  });
});

test('fields that both have changed are named, and are those of the user', () => {
  const mine = { ...base, spec: { ...base.spec, replicas: 5, list: [1, 2] } };
  const latest = { ...base, spec: { ...base.spec, replicas: 9, list: [3] } };
  expect(rebase<object>(base, mine, latest)).toEqual({
    value: mine,
    conflicts: ['.spec.replicas', '.spec.list'],
  });
});

test('the same change of both is no conflict; the order of keys is no change', () => {
  const mine = { labels: base.labels, spec: { list: [1], image: 'c', replicas: 2 } };
  const latest = { ...base, spec: { ...base.spec, image: 'c' } };
  expect(rebase<object>(base, mine, latest)).toEqual({ value: latest, conflicts: [] });
});

test('a key such as __proto__ is a key', () => {
  const mine = JSON.parse('{"labels": {"__proto__": {"polluted": true}}}') as object;
  const { value } = rebase<object>({ labels: {} }, mine, { labels: {} });
  expect(JSON.stringify(value)).toBe('{"labels":{"__proto__":{"polluted":true}}}');
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
