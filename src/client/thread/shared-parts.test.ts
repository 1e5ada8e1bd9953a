import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { separateParts, SiblingParts } from './shared-parts.ts';

const podOf = (name: string, extra: object = {}) => ({
  kind: 'Pod',
  metadata: { name, namespace: 'n', ownerReferences: [{ uid: 'r' }] },
  spec: { containers: [{ name: 'c', image: 'i' }], tolerations: [{ key: 'k' }], nodeName: name },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  ...extra,
});

describe('SiblingParts', () => {
  test('shares the equal parts of siblings', () => {
    const parts = new SiblingParts();
    const first = parts.share(podOf('a')) as ReturnType<typeof podOf>;
    const second = parts.share(podOf('b')) as ReturnType<typeof podOf>;
    expect(second).toEqual(podOf('b'));
    expect(first).toEqual(podOf('a'));
    expect(second.spec).not.toBe(first.spec);
    expect(second.spec.containers).toBe(first.spec.containers);
    expect(second.status).toBe(first.status);
    expect(second.metadata.ownerReferences).toBe(first.metadata.ownerReferences);
    expect(parts.share(podOf('b'))).toBe(second);
    const other = { kind: 'ResourceSlice', spec: { devices: [{ name: 'd' }] } };
    const slices = [structuredClone(other), structuredClone(other)];
    for (const slice of slices) expect(parts.share(slice)).toBe(slice);
    expect(slices[0]?.spec).not.toBe(slices[1]?.spec);
  });

  test('keeps objects of different owners, kinds and phases apart, and all of other kinds', () => {
    const parts = new SiblingParts();
    const first = parts.share(podOf('a')) as ReturnType<typeof podOf>;
    for (const other of [
      podOf('a', { metadata: { name: 'a', ownerReferences: [{ uid: 'other' }] } }),
      podOf('a', { kind: 'Node' }),
      podOf('a', { kind: 'ResourceSlice' }),
      podOf('a', { status: { phase: 'Pending' } }),
    ])
      expect((parts.share(other) as typeof first).spec).not.toBe(first.spec);
  });

  test('remembers a limited number of groups', () => {
    const parts = new SiblingParts(1);
    const first = parts.share(podOf('a')) as ReturnType<typeof podOf>;
    parts.share({ kind: 'Node' });
    const second = parts.share(podOf('b')) as ReturnType<typeof podOf>;
    expect(second.spec.containers).not.toBe(first.spec.containers);
  });

  test.each([
    [{}, { a: 1 }],
    [{ a: 1 }, {}],
    [{ a: [] }, { a: {} }],
    [{ a: {} }, { a: [] }],
    [{ a: [1, 2] }, { a: [1] }],
    [{ a: null }, { a: {} }],
    [{ a: {} }, { a: null }],
    [{ metadata: null }, { metadata: { ownerReferences: [null] } }],
    [{ metadata: 'x', status: 1 }, { metadata: [] }],
  ])('does not change what %j and %j mean', (first, second) => {
    const parts = new SiblingParts();
    const [a, b] = [first, second].map((each) => ({ kind: 'Pod', ...structuredClone(each) }));
    expect(parts.share(a!)).toEqual({ kind: 'Pod', ...first });
    expect(parts.share(b!)).toEqual({ kind: 'Pod', ...second });
  });

  test('leaves parts that are too deep as they are', () => {
    const deep = (levels: number): object =>
      levels === 0 ? {} : { kind: 'Pod', a: deep(levels - 1) };
    const parts = new SiblingParts();
    const first = parts.share(deep(500));
    expect(parts.share(deep(500)) === first).toBe(false);
  });

  test('returns objects equal to those of the plain form, and does not change earlier ones', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom('', 'a', 0, 1, true, null),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), tie('any')),
      ),
    })).any;
    fc.assert(
      fc.property(fc.array(fc.record({ spec: value, status: value }), { maxLength: 5 }), (all) => {
        const texts = all.map((each) => JSON.stringify({ kind: 'Pod', ...each }));
        const parts = new SiblingParts();
        const plain = texts.map((json) => separateParts.share(JSON.parse(json) as object));
        const shared = texts.map((json) => parts.share(JSON.parse(json) as object));
        expect(shared).toEqual(plain);
      }),
      { numRuns: 100 },
    );
  });
});
