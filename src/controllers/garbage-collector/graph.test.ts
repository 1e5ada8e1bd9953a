import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { blockingDependents, Graph, type Node } from './graph.ts';

const TYPE = { apiVersion: 'v1', kind: 'Thing' };
const owner = (uid: string, change: object = {}) => ({ ...TYPE, name: uid, uid, ...change });
const thing = (uid: string, owners: object[] = [], metadata: object = {}): KubeObject => ({
  metadata: {
    name: uid,
    uid,
    namespace: 'x',
    ownerReferences: owners,
    ...metadata,
  } as unknown as KubeObject['metadata'],
});
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };

let calls: string[];
let graph: Graph;
beforeEach(() => {
  calls = [];
  const record = (what: string) => (node: Node) =>
    void calls.push(`${what} ${node.uid}${node.virtual ? ' (virtual)' : ''}`);
  graph = new Graph({
    attemptToDelete: record('delete'),
    attemptToOrphan: record('orphan'),
    invalidNamespace: (dependent, reference, namespace) =>
      calls.push(`namespace ${dependent.uid} ${reference.uid} ${namespace}`),
    absent: ({ uid }) => calls.push(`absent ${uid}`),
  });
});
const put = (object: KubeObject) => graph.put(object, TYPE);
const dependents = (uid: string) =>
  [...(graph.get(uid)?.dependents ?? [])].map(({ uid }) => uid).sort();

describe('Graph', () => {
  test('creates a virtual node for an owner that was not seen, and asks to examine it', () => {
    put(thing('child', [owner('parent')]));
    expect(calls).toEqual(['delete parent (virtual)']);
    expect(graph.get('parent')).toMatchObject({ virtual: true, namespace: 'x', kind: 'Thing' });
    put(thing('parent'));
    expect(calls.length).toBe(1);
    expect(graph.get('parent')?.virtual).toBe(false);
    expect(dependents('parent')).toEqual(['child']);
  });

  test('has the dependents of an owner that was given up before it was seen', () => {
    put(thing('child', [owner('parent')]));
    graph.delete('parent');
    expect(calls).toEqual(['delete parent (virtual)', 'absent parent', 'delete child']);
    put(thing('parent'));
    expect(dependents('parent')).toEqual(['child']);
  });

  test('drops virtual nodes without references', () => {
    put(thing('a', [owner('parent')]));
    put(thing('b', [owner('parent')]));
    graph.delete('a');
    expect(graph.get('parent')?.virtual).toBe(true);
    put(thing('b', []));
    expect(graph.get('parent')).toBeUndefined();
    expect(graph.size).toBe(1);
  });

  test('wakes dependents when their owner is gone, and a waiting owner when a dependent is gone or released', () => {
    put(thing('parent'));
    put(thing('a', [owner('parent', { blockOwnerDeletion: true })]));
    put(thing('b', [owner('parent', { blockOwnerDeletion: true })]));
    put(thing('c', [owner('parent')]));
    expect(calls).toEqual([]);
    put(thing('parent', [], { ...DELETED, finalizers: ['foregroundDeletion'] }));
    expect(calls).toEqual(['delete a', 'delete b', 'delete c', 'delete parent']);
    expect(blockingDependents(graph.get('parent')!).map(({ uid }) => uid)).toEqual(['a', 'b']);
    calls.length = 0;
    graph.delete('a');
    put(thing('b', [owner('parent')]));
    expect(calls).toEqual(['absent a', 'delete parent', 'delete parent']);
    expect(blockingDependents(graph.get('parent')!)).toEqual([]);
    calls.length = 0;
    graph.delete('parent');
    expect(calls).toEqual(['absent parent', 'delete b', 'delete c']);
  });

  test('asks for orphaning once', () => {
    put(thing('parent', [], { ...DELETED, finalizers: ['orphan'] }));
    put(thing('parent', [], { ...DELETED, finalizers: ['orphan'], labels: {} }));
    expect(calls).toEqual(['orphan parent']);
    expect(graph.get('parent')?.beingDeleted).toBe(true);
  });

  test.each([
    [
      'of another namespace',
      thing('parent', [], { namespace: 'y' }),
      ['namespace child parent y', 'delete child'],
    ],
    ['with another name', thing('parent', [], { name: 'renamed' }), ['delete child']],
  ])('has a dependent looked at whose owner turns out to be one %s', (_, parent, expected) => {
    put(parent);
    put(thing('child', [owner('parent')]));
    expect(calls).toEqual(expected);
    calls.length = 0;
    graph.delete('child');
    graph.delete('parent');
    put(thing('child', [owner('parent')]));
    calls.length = 0;
    put(parent);
    expect(calls).toEqual(expected);
  });

  test('drops objects that a new list of the type lacks, but no objects of other types and no virtual nodes', () => {
    put(thing('child', [owner('parent'), owner('unseen')]));
    put(thing('parent'));
    put(thing('gone'));
    graph.put(thing('other'), { apiVersion: 'v1', kind: 'Other' });
    calls.length = 0;
    graph.replace([thing('child', [owner('parent'), owner('unseen')]), thing('new')], TYPE);
    expect(calls.toSorted()).toEqual(['absent gone', 'absent parent', 'delete child']);
    expect(
      ['child', 'parent', 'gone', 'other', 'unseen', 'new'].map(
        (uid) => graph.get(uid) !== undefined,
      ),
    ).toEqual([true, false, false, true, true, true]);
  });
});
