import { describe, expect, test } from 'vitest';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { patchFor, PodStatusWriter } from './pod-status.ts';
import { RecordingLogger } from './testing/handle.ts';
import { makePod } from './testing/objects.ts';

const now = Date.UTC(2026, 0, 1, 12);
const unfit = {
  reason: 'Unschedulable' as const,
  message: '0/1 nodes are available: 1 Insufficient cpu.',
};
const said = (more: Record<string, unknown> = {}) => ({
  type: 'PodScheduled',
  status: 'False' as const,
  reason: unfit.reason,
  message: unfit.message,
  lastProbeTime: null,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...more,
});

describe('patchFor', () => {
  test('sets the condition of the pod with this UID', () => {
    expect(patchFor(makePod('p', { generation: 3 }), unfit, now)).toEqual({
      metadata: { uid: 'uid-p' },
      status: {
        conditions: [said({ observedGeneration: 3, lastTransitionTime: '2026-01-01T12:00:00Z' })],
      },
    });
  });

  test('is nothing if the condition is up to date', () => {
    expect(
      patchFor(makePod('p', { status: { conditions: [said()] } }), unfit, now),
    ).toBeUndefined();
  });

  test('keeps the transition time if only the message changes', () => {
    const pod = makePod('p', { status: { conditions: [said()] } });
    expect(patchFor(pod, { ...unfit, message: 'other' }, now)).toMatchObject({
      status: { conditions: [{ message: 'other', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
    });
  });

  test('changes only the nomination if only that changes', () => {
    const pod = makePod('p', { status: { conditions: [said()], nominatedNodeName: 'n' } });
    expect(patchFor(pod, { ...unfit, nominatedNode: 'm' }, now)).toMatchObject({
      status: { nominatedNodeName: 'm' },
    });
    expect(patchFor(pod, { ...unfit, nominatedNode: '' }, now)).toEqual({
      metadata: { uid: 'uid-p' },
      status: { nominatedNodeName: null },
    });
    expect(patchFor(pod, { ...unfit, nominatedNode: 'n' }, now)).toBeUndefined();
    expect(patchFor(pod, unfit, now)).toBeUndefined();
  });
});

describe('PodStatusWriter', () => {
  function setUp(concurrency: number) {
    const logger = new RecordingLogger();
    const patches: {
      readonly name: string;
      readonly message: string | undefined;
      readonly end: (err?: unknown) => void;
    }[] = [];
    const patch = (
      name: string,
      _type: string,
      body: { status: { conditions?: { message: string }[] } },
    ): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const end = (err?: unknown): void => (err === undefined ? resolve({}) : reject(err));
        patches.push({ name, message: body.status.conditions?.[0]?.message, end });
      });
    // The methods that the writer calls.
    const resource = { namespace: () => resource, patch };
    const client: Client = { resource: () => resource as never, transport: undefined as never };
    return {
      logger,
      patches,
      writer: new PodStatusWriter({ client, clock: new VirtualClock(), logger, concurrency }),
    };
  }
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const why = (message: string) => ({ reason: 'Unschedulable' as const, message });

  test('writes a few at a time, and only the newest pending write of a pod', async () => {
    const { writer, patches } = setUp(2);
    for (const name of ['a', 'b', 'c']) writer.notScheduled(makePod(name), why('1'));
    writer.notScheduled(makePod('a'), why('2'));
    writer.notScheduled(makePod('c'), why('2'));
    writer.notScheduled(makePod('c'), why('3'));
    expect(patches.map(({ name, message }) => `${name}${message}`)).toEqual(['a1', 'b1']);
    patches[1]?.end();
    await turn();
    // Not a2: a1 is still in flight.
    expect(patches.map(({ name, message }) => `${name}${message}`)).toEqual(['a1', 'b1', 'c3']);
    patches[0]?.end();
    await turn();
    expect(patches.map(({ name, message }) => `${name}${message}`)).toEqual([
      'a1',
      'b1',
      'c3',
      'a2',
    ]);
  });

  test('writes nothing for a settled pod', async () => {
    const { writer, patches } = setUp(1);
    writer.notScheduled(makePod('a'), why('1'));
    writer.notScheduled(makePod('a'), why('2'));
    let settled = false;
    const settling = writer.settle('uid-a').then(() => {
      settled = true;
    });
    await turn();
    expect(settled).toBe(false);
    patches[0]?.end();
    await settling;
    await turn();
    expect(patches).toHaveLength(1);
  });

  test('continues after a failed write, and logs it unless the pod is gone', async () => {
    const { writer, patches, logger } = setUp(1);
    for (const name of ['a', 'b', 'c']) writer.notScheduled(makePod(name), why('1'));
    patches[0]?.end(apierrors.notFound({ group: '', resource: 'pods' }, 'a'));
    await turn();
    expect(logger.problems).toHaveLength(0);
    patches[1]?.end(apierrors.internalError('disk'));
    await turn();
    expect(logger.problems).toHaveLength(1);
    expect(patches).toHaveLength(3);
  });
});
