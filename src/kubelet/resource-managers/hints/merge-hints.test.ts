import { describe, expect, test } from 'vitest';
import type { Hint, Hints } from './hint.ts';
import { mergeHints } from './merge-hints.ts';
import { maskOf } from './numa-mask.ts';

const numa = { nodes: [0, 1, 2, 3] };

const on = (nodes: readonly number[], preferred = true): Hint => ({
  mask: maskOf(nodes),
  preferred,
});

const hintsOf = (resources: Readonly<Record<string, readonly Hint[]>>): Hints =>
  new Map(Object.entries(resources));

describe('best-effort', () => {
  test('the nodes that all resources prefer are chosen', () => {
    const cpu = hintsOf({ cpu: [on([0]), on([1]), on([0, 1], false)] });
    const devices = hintsOf({ gpu: [on([1]), on([0, 1], false)] });
    expect(mergeHints('best-effort', numa, [cpu, devices])).toEqual({ hint: on([1]), admit: true });
  });

  test('without preferred nodes, as many as the largest need are chosen', () => {
    const cpu = hintsOf({ cpu: [on([0, 1]), on([0, 1, 2], false)] });
    const devices = hintsOf({ gpu: [on([1]), on([0, 1], false)] });
    const { hint } = mergeHints('best-effort', numa, [cpu, devices]);
    expect(hint).toEqual(on([0, 1], false));
  });

  test('a provider without a preference does not count', () => {
    const cpu = hintsOf({ cpu: [on([2])] });
    expect(mergeHints('best-effort', numa, [undefined, cpu]).hint).toEqual(on([2]));
  });

  test('resources that fit nowhere get all nodes', () => {
    const { hint, admit } = mergeHints('best-effort', numa, [hintsOf({ gpu: [] })]);
    expect([hint, admit]).toEqual([on([0, 1, 2, 3], false), true]);
  });

  test('the closer of two groups is chosen, if the distances are known', () => {
    const distances = new Map([
      [0, [10, 20, 12, 20]],
      [1, [20, 10, 20, 20]],
      [2, [12, 20, 10, 20]],
      [3, [20, 20, 20, 10]],
    ]);
    const hints = hintsOf({ cpu: [on([0, 1]), on([0, 2])] });
    expect(mergeHints('best-effort', numa, [hints]).hint).toEqual(on([0, 1]));
    const { hint } = mergeHints('best-effort', { ...numa, distances }, [hints]);
    expect(hint).toEqual(on([0, 2]));
  });
});

test('restricted rejects nodes that a resource does not prefer', () => {
  const cpu = hintsOf({ cpu: [on([0])] });
  const devices = hintsOf({ gpu: [on([1])] });
  expect(mergeHints('restricted', numa, [cpu, devices]).admit).toBe(false);
  expect(mergeHints('restricted', numa, [cpu]).admit).toBe(true);
});

test('single-numa-node admits one node only', () => {
  const wide = hintsOf({ cpu: [on([0, 1])] });
  expect(mergeHints('single-numa-node', numa, [wide]).admit).toBe(false);
  const one = hintsOf({ cpu: [on([3]), on([0, 1])] });
  expect(mergeHints('single-numa-node', numa, [one])).toEqual({ hint: on([3]), admit: true });
  // Pods that ask for nothing exclusive are admitted, and may use all nodes.
  expect(mergeHints('single-numa-node', numa, [undefined])).toEqual({
    hint: { preferred: true },
    admit: true,
  });
});

test('many resources with many hints take no time', () => {
  const nodes = [0, 1, 2, 3, 4, 5, 6, 7];
  const all = Array.from({ length: 255 }, (_, i) => ({ mask: i + 1, preferred: false }));
  const resources = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`r${i}`, all]));
  // All combinations would be 255 ** 10.
  const { hint } = mergeHints('best-effort', { nodes }, [hintsOf(resources)]);
  expect(hint).toEqual({ mask: 1, preferred: false });
});
