import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';

import { decideDeletion, finishesDeletion } from './deletion.ts';
import type { DeleteOptions } from './rest.ts';
import type { DeleteStrategy, StrategyContext } from './strategy.ts';

const NOW = Date.UTC(2026, 0, 1);
const context: StrategyContext = {
  request: {
    user: { name: 'u', groups: [] },
    namespace: '',
    signal: new AbortController().signal,
    warnings: [],
  },
  now: NOW,
  dryRun: false,
};

function object(metadata: object = {}): KubeObject {
  return {
    metadata: { name: 'x', uid: 'u', resourceVersion: '1', creationTimestamp: '', ...metadata },
  };
}

const graceful: DeleteStrategy<KubeObject> = {
  gracePeriodSeconds: (_object, requested) => requested ?? 30,
};
const decide = (
  target: KubeObject,
  options: Partial<DeleteOptions> = {},
  strategy: DeleteStrategy<KubeObject> = {},
) => decideDeletion(target, { dryRun: false, ...options }, strategy, context);
const marked = (
  target: KubeObject,
  options: Partial<DeleteOptions> = {},
  strategy: DeleteStrategy<KubeObject> = {},
) => {
  const decision = decide(target, options, strategy);
  return decision.action === 'mark' ? decision.object.metadata : decision.action;
};

describe('decideDeletion', () => {
  test('an object without finalizers is deleted at once', () => {
    expect(marked(object())).toBe('delete');
    expect(marked(object({ generation: 3 }), { propagationPolicy: 'Background' })).toBe('delete');
  });

  test('an object without grace is marked in the response', () => {
    const decision = decide(object({ generation: 3 }), { gracePeriodSeconds: 0 }, graceful);
    expect(decision).toMatchObject({
      action: 'delete',
      last: {
        metadata: {
          deletionTimestamp: '2026-01-01T00:00:00Z',
          deletionGracePeriodSeconds: 0,
          generation: 4,
        },
      },
    });
    const running = {
      deletionTimestamp: '2026-01-01T00:00:20Z',
      deletionGracePeriodSeconds: 30,
      generation: 4,
    };
    expect(decide(object(running), { gracePeriodSeconds: 0 }, graceful)).toMatchObject({
      action: 'delete',
      last: {
        metadata: {
          deletionTimestamp: '2025-12-31T23:59:50Z',
          deletionGracePeriodSeconds: 0,
          generation: 4,
        },
      },
    });
  });

  test('finalizers delay the deletion', () => {
    expect(marked(object({ finalizers: ['a/b'], generation: 3 }))).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
      generation: 4,
      finalizers: ['a/b'],
    });
  });

  test('an object that is already marked stays unchanged', () => {
    const before = object({
      finalizers: ['a/b'],
      generation: 4,
      deletionTimestamp: '2025-12-31T23:59:00Z',
      deletionGracePeriodSeconds: 0,
    });
    expect(marked(before)).toEqual(before.metadata);
  });

  test('the policy becomes a finalizer, and the last request counts', () => {
    expect(marked(object(), { propagationPolicy: 'Orphan' })).toMatchObject({
      finalizers: ['orphan'],
    });
    expect(
      marked(object({ finalizers: ['orphan', 'a/b'] }), { propagationPolicy: 'Foreground' }),
    ).toMatchObject({
      finalizers: ['a/b', 'foregroundDeletion'],
    });
    expect(marked(object({ finalizers: ['orphan'] }), { propagationPolicy: 'Background' })).toBe(
      'delete',
    );
    expect(marked(object({ finalizers: ['foregroundDeletion'] }))).toMatchObject({
      finalizers: ['foregroundDeletion'],
    });
    expect(marked(object(), {}, { defaultGarbageCollection: 'orphan' })).toMatchObject({
      finalizers: ['orphan'],
    });
    expect(
      marked(object(), { orphanDependents: false }, { defaultGarbageCollection: 'orphan' }),
    ).toBe('delete');
  });

  test('a grace period starts now, and can only become shorter', () => {
    expect(marked(object(), {}, graceful)).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:30Z',
      deletionGracePeriodSeconds: 30,
    });
    expect(marked(object(), { gracePeriodSeconds: 0 }, graceful)).toBe('delete');
    const running = object({
      deletionTimestamp: '2026-01-01T00:00:20Z',
      deletionGracePeriodSeconds: 30,
    });
    expect(marked(running, {}, graceful)).toBe('keep');
    expect(marked(running, { gracePeriodSeconds: 30 }, graceful)).toBe('keep');
    expect(marked(running, { gracePeriodSeconds: 10 }, graceful)).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 10,
    });
    expect(marked(running, { gracePeriodSeconds: 0 }, graceful)).toBe('delete');
  });

  test('pending finalizers of the kind delay the deletion, and the status is set once', () => {
    let prepared = 0;
    const strategy: DeleteStrategy<KubeObject> = {
      hasPendingFinalizers: () => true,
      prepareForDelete: (deleted) => {
        prepared++;
        return deleted;
      },
    };
    const first = decide(object(), {}, strategy);
    expect(first.action).toBe('mark');
    if (first.action === 'mark') expect(decide(first.object, {}, strategy).action).toBe('mark');
    expect(prepared).toBe(1);
  });

  test('does not modify its arguments', () => {
    const original = object({ finalizers: ['a/b'] });
    const copy = structuredClone(original);
    decide(original, { propagationPolicy: 'Foreground' }, graceful);
    expect(original).toEqual(copy);
  });
});

test('finishesDeletion', () => {
  const deleting = object({
    deletionTimestamp: 'x',
    deletionGracePeriodSeconds: 0,
    finalizers: ['a/b'],
  });
  expect(finishesDeletion(object(), deleting, {})).toBe(true);
  expect(finishesDeletion(deleting, deleting, {})).toBe(false);
  expect(finishesDeletion(object(), object({ finalizers: ['a/b'] }), {})).toBe(false);
  expect(
    finishesDeletion(
      object(),
      object({ deletionTimestamp: 'x', deletionGracePeriodSeconds: 5 }),
      {},
    ),
  ).toBe(false);
  expect(finishesDeletion(object(), deleting, { hasPendingFinalizers: () => true })).toBe(false);
});
