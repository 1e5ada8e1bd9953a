// The events that wake a pod which waits for devices, those that do not, and the plugin's
// arguments.

import { describe, expect, test } from 'vitest';
import { podUpdateEvent } from '#scheduler/framework/changes.ts';
import {
  ActionType,
  assignedPodDelete,
  clusterEvent,
  type ClusterEvent,
  type EventObjects,
  matchesEvent,
  UPDATE,
} from '#scheduler/framework/events.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import { PodInfo } from '#scheduler/framework/pod-info.ts';
import { DRIVER, makeResourceClaim, using } from '#scheduler/testing/devices.ts';
import { makeHandle } from '#scheduler/testing/handle.ts';
import { makePod } from '#scheduler/testing/objects.ts';
import { dynamicResources } from './dynamic-resources.ts';
import { claimEvents } from './hints.ts';
import type { ResourceClaim } from './objects.ts';

const results = [{ request: 'r', driver: DRIVER, pool: 'p', device: 'd' }];
const open = makeResourceClaim('c');
const allocated = makeResourceClaim('c', undefined, {}, { allocation: { devices: { results } } });
const other = makeResourceClaim('other');
const pod = makePod('p', { spec: using('c') });

function wakes(
  waiting: Pod,
  event: ClusterEvent | undefined,
  objects: EventObjects,
  ...claims: readonly ResourceClaim[]
): boolean {
  if (event === undefined) return false;
  const get = (key: string): ResourceClaim | undefined =>
    claims.find(({ metadata }) => `default/${metadata.name}` === key);
  return claimEvents(get).some(
    (registration) =>
      matchesEvent(registration.event, event) && (registration.hint?.(waiting, objects) ?? true),
  );
}

const claimEvent = (action: number): ClusterEvent => clusterEvent('ResourceClaim', action, 'claim');

describe('a pod that waits for devices', () => {
  test.each<[string, number, EventObjects, boolean]>([
    ['its claim comes', ActionType.Add, { after: open }, true],
    ['another claim comes', ActionType.Add, { after: other }, false],
    ['its claim gets devices', UPDATE, { before: open, after: allocated }, true],
    [
      'its claim gets a label',
      UPDATE,
      { before: open, after: { ...open, metadata: { ...open.metadata, labels: { a: 'b' } } } },
      false,
    ],
    [
      'another claim gives devices back',
      UPDATE,
      { before: { ...allocated, metadata: other.metadata }, after: other },
      true,
    ],
    [
      'another claim with devices goes',
      ActionType.Delete,
      { before: { ...allocated, metadata: other.metadata } },
      true,
    ],
    ['another claim without devices goes', ActionType.Delete, { before: other }, false],
  ])('when %s', (_what, action, objects, expected) => {
    expect(wakes(pod, claimEvent(action), objects, open, other)).toBe(expected);
  });

  test('is not woken as long as its own claim does not exist', () => {
    expect(wakes(pod, claimEvent(ActionType.Add), { after: other }, other)).toBe(false);
  });

  test('is woken by classes, slices, nodes, and by pods with claims', () => {
    for (const resource of ['DeviceClass', 'ResourceSlice', 'Node'] as const) {
      expect(wakes(pod, clusterEvent(resource, ActionType.Add, 'add'), {}, open)).toBe(true);
    }
    expect(wakes(pod, clusterEvent('Node', ActionType.UpdateNodeTaint, 'taint'), {}, open)).toBe(
      false,
    );
    expect(
      wakes(pod, assignedPodDelete, { before: makePod('gone', { spec: using('other') }) }, open),
    ).toBe(true);
    expect(wakes(pod, assignedPodDelete, { before: makePod('gone') }, open)).toBe(false);
  });

  test('is woken when the created claim is recorded in its status', () => {
    const before = makePod('p', {
      spec: { resourceClaims: [{ name: 'x', resourceClaimTemplateName: 't' }] },
    });
    const after: Pod = {
      ...before,
      status: {
        ...before.status,
        resourceClaimStatuses: [{ name: 'x', resourceClaimName: 'p-x' }],
      },
    };
    const owner = {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p',
      uid: before.metadata.uid,
      controller: true,
    };
    const made = makeResourceClaim('p-x');
    const own: ResourceClaim = {
      ...made,
      metadata: { ...made.metadata, ownerReferences: [owner] },
    };
    const event = podUpdateEvent(new PodInfo(before), new PodInfo(after));
    expect(wakes(before, event, { before, after }, own)).toBe(true);
    // Not the pod's own claim.
    expect(wakes(before, event, { before, after }, made)).toBe(false);
    expect(
      wakes(
        makePod('another', { spec: using('p-x') }),
        event,
        { before, after },
        makeResourceClaim('p-x'),
      ),
    ).toBe(false);
  });
});

describe('DynamicResourcesArgs', () => {
  const create = (args: unknown) => () =>
    dynamicResources.create({ value: args, path: 'args' }, makeHandle());
  test.each<[unknown, RegExp]>([
    [
      { filterTimeout: '-1s' },
      /args\.filterTimeout: Invalid value: "-1s": must be zero or positive/,
    ],
    [
      { bindingTimeout: '500ms' },
      /args\.bindingTimeout: Invalid value: "500ms": must be at least 1 second/,
    ],
    [{ bindingTimeout: 'soon' }, /args\.bindingTimeout: Invalid value: "soon"/],
    [{ timeout: '1s' }, /unknown field "timeout"/],
  ])('refuses %j', (args, message) => {
    expect(create(args)).toThrow(message);
  });

  test('accepts valid arguments', () => {
    expect(create({ filterTimeout: '0s', bindingTimeout: '10m' })).not.toThrow();
  });
});
