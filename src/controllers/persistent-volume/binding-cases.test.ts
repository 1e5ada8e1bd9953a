// Upstream's cases for the binder: pairs of volumes and claims in any initial state (bound by
// users, half bound by a crashed controller, bound wrongly), and their final state.

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  events,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { PersistentVolumeBinder } from './index.ts';
import { BIND_COMPLETED, BOUND_BY_CONTROLLER } from './names.ts';
import { newClaim, newVolume } from './testing/objects.ts';

const LABELS = { foo: 'true', bar: 'false' };

interface VolumeCase {
  readonly name: string;
  readonly size?: string;
  /**
   * The claim in claimRef, and its UID: 'own' is the UID of the test's claim, another value the UID
   * of another claim.
   */
  readonly claim?: string;
  readonly uid?: string;
  readonly phase?: PersistentVolume['status']['phase'];
  readonly byController?: boolean;
  readonly storageClass?: string;
  readonly labels?: Record<string, string>;
}
interface ClaimCase {
  readonly name: string;
  readonly size?: string;
  readonly volume?: string;
  readonly phase?: PersistentVolumeClaim['status']['phase'];
  readonly byController?: boolean;
  readonly completed?: boolean;
  readonly storageClass?: string;
  readonly selector?: boolean;
}

const v = (name: string, more: Omit<VolumeCase, 'name'> = {}): VolumeCase => ({ name, ...more });
const c = (more: Omit<ClaimCase, 'name'> = {}): ClaimCase => ({ name: 'c', ...more });
const ours = { claim: 'c', uid: 'own' };
const bound = { byController: true, completed: true };

let cluster: TestCluster;
let stopBinder: () => Promise<void>;
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster.stop());
/** All cases share one server, so each removes its objects. */
afterEach(async () => {
  await stopBinder();
  const claims = cluster.client.resource(persistentVolumeClaims).namespace('default');
  const volumes = cluster.client.resource(persistentVolumes);
  for (const client of [claims, volumes]) {
    for (const { metadata } of (await client.list()).items) {
      await client.patch(metadata.name, 'application/merge-patch+json', {
        metadata: { finalizers: null },
      });
      await client.delete(metadata.name);
    }
  }
  await cluster.client.resource(events).namespace('default').deleteCollection();
});

/**
 * `volumes`: 'NAME PHASE CLAIM:UID'; `claim`: 'PHASE VOLUME SIZE'; both with the binder's
 * annotations.
 */
test.each<
  [
    what: string,
    volumes: VolumeCase[],
    claim: ClaimCase | undefined,
    after: string[],
    claimAfter: string,
    eventTexts: string[],
  ]
>([
  // Claims without a volume name.
  ['1-1 bind', [v('a')], c(), ['a Bound c:own ctl'], 'Bound a 1Gi ctl done', []],
  [
    '1-2 too small',
    [v('a')],
    c({ size: '10Gi' }),
    ['a Available'],
    'Pending - -',
    ['Normal FailedBinding'],
  ],
  [
    '1-3 back to Pending',
    [v('a')],
    c({ size: '10Gi', phase: 'Bound' }),
    ['a Available'],
    'Pending - -',
    ['Normal FailedBinding'],
  ],
  [
    '1-4 the smallest',
    [v('a', { size: '10Gi' }), v('b')],
    c(),
    ['a Available', 'b Bound c:own ctl'],
    'Bound b 1Gi ctl done',
    [],
  ],
  [
    '1-5 meant for it by name',
    [v('a', { size: '10Gi', claim: 'c' }), v('b')],
    c(),
    ['a Bound c:own', 'b Available'],
    'Bound a 10Gi ctl done',
    [],
  ],
  [
    '1-6 meant for it by UID',
    [v('a', { size: '10Gi', ...ours }), v('b')],
    c(),
    ['a Bound c:own', 'b Available'],
    'Bound a 10Gi ctl done',
    [],
  ],
  [
    '1-7 meant for another of its name',
    [v('a', { size: '10Gi', claim: 'c', uid: 'other' })],
    c(),
    ['a Released c:other'],
    'Pending - -',
    ['Normal FailedBinding'],
  ],
  [
    '1-8 crashed when the volume was written',
    [v('a', { ...ours, byController: true })],
    c(),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  [
    '1-9 crashed when its status was',
    [v('a', { ...ours, byController: true, phase: 'Bound' })],
    c(),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  [
    '1-10 crashed when the claim was',
    [v('a', { ...ours, byController: true, phase: 'Bound' })],
    c({ volume: 'a', ...bound }),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  [
    '1-11 labels that match',
    [v('a', { labels: LABELS })],
    c({ selector: true }),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  [
    '1-12 labels that do not',
    [v('a')],
    c({ selector: true }),
    ['a Available'],
    'Pending - -',
    ['Normal FailedBinding'],
  ],
  // Claims with a volume name.
  ['2-1 that is not there', [], c({ volume: 'a' }), [], 'Pending a -', []],
  ['2-2 and is Bound', [], c({ volume: 'a', phase: 'Bound' }), [], 'Pending a -', []],
  ['2-3 that is free', [v('a')], c({ volume: 'a' }), ['a Bound c:own ctl'], 'Bound a 1Gi done', []],
  [
    '2-4 that names it',
    [v('a', { claim: 'c' })],
    c({ volume: 'a' }),
    ['a Bound c:own'],
    'Bound a 1Gi done',
    [],
  ],
  [
    '2-5 that knows it',
    [v('a', ours)],
    c({ volume: 'a' }),
    ['a Bound c:own'],
    'Bound a 1Gi done',
    [],
  ],
  [
    '2-6 that another has',
    [v('a', { claim: 'd', uid: 'other', phase: 'Bound' })],
    c({ volume: 'a', phase: 'Bound' }),
    ['a Released d:other'],
    'Pending a -',
    ['Warning FailedBinding'],
  ],
  [
    '2-7 that another has, though it was bound here',
    [v('a', { claim: 'd', uid: 'other', phase: 'Bound' })],
    c({ volume: 'a', phase: 'Bound', byController: true }),
    ['a Released d:other'],
    'Bound a 1Gi ctl',
    ['Warning FailedBinding'],
  ],
  [
    '2-8 with other labels',
    [v('a')],
    c({ volume: 'a', selector: true }),
    ['a Bound c:own ctl'],
    'Bound a 1Gi done',
    [],
  ],
  // Claims that were bound.
  [
    '3-1 that name none any more',
    [],
    c({ phase: 'Bound', ...bound }),
    [],
    'Lost - - ctl done',
    ['Warning ClaimLost'],
  ],
  [
    '3-2 whose volume is gone',
    [],
    c({ volume: 'a', phase: 'Bound', ...bound }),
    [],
    'Lost a - ctl done',
    ['Warning ClaimLost'],
  ],
  [
    '3-3 whose volume is free',
    [v('a')],
    c({ volume: 'a', ...bound }),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  [
    '3-4 whose volume knows another of the name',
    [v('a', { claim: 'c', uid: 'other' })],
    c({ volume: 'a', ...bound }),
    ['a Released c:other'],
    'Lost a - ctl done',
    ['Warning ClaimMisbound'],
  ],
  [
    '3-5 and are still Pending',
    [v('a', ours)],
    c({ volume: 'a', completed: true }),
    ['a Bound c:own'],
    'Bound a 1Gi done',
    [],
  ],
  [
    '3-6 whose volume another has',
    [v('a', { claim: 'd', uid: 'other' })],
    c({ volume: 'a', completed: true }),
    ['a Released d:other'],
    'Lost a - done',
    ['Warning ClaimMisbound'],
  ],
  [
    '3-7 whose volume is free and has other labels',
    [v('a')],
    c({ volume: 'a', selector: true, ...bound }),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  // Volumes.
  ['4-1 new', [v('a')], undefined, ['a Available'], '', []],
  ['4-2 meant for a claim', [v('a', { claim: 'c' })], undefined, ['a Available c:-'], '', []],
  [
    '4-3 whose claim is gone',
    [v('a', { claim: 'c', uid: 'x', phase: 'Bound' })],
    undefined,
    ['a Released c:x'],
    '',
    [],
  ],
  [
    '4-6 of a claim that is bound to it',
    [v('a', { ...ours, phase: 'Available' })],
    c({ volume: 'a', phase: 'Bound', completed: true }),
    ['a Bound c:own'],
    'Bound a 1Gi done',
    [],
  ],
  [
    '4-7 of a claim that is bound elsewhere',
    [v('a', { ...ours, byController: true, phase: 'Bound' }), v('z', { ...ours, phase: 'Bound' })],
    c({ volume: 'z', phase: 'Bound', completed: true }),
    ['a Available', 'z Bound c:own'],
    'Bound z 1Gi done',
    [],
  ],
  [
    '4-8 the same, bound by its user',
    [v('a', { ...ours, phase: 'Bound' }), v('z', { ...ours, phase: 'Bound' })],
    c({ volume: 'z', phase: 'Bound', completed: true }),
    ['a Available c:-', 'z Bound c:own'],
    'Bound z 1Gi done',
    [],
  ],
  [
    '10-2 two volumes for one claim',
    [
      v('a', { ...ours, byController: true, phase: 'Bound' }),
      v('b', { ...ours, byController: true, phase: 'Bound' }),
    ],
    c({ volume: 'a', phase: 'Bound', ...bound }),
    ['a Bound c:own ctl', 'b Available'],
    'Bound a 1Gi ctl done',
    [],
  ],
  // Classes.
  [
    '13-1 the class before the size',
    [v('a'), v('b', { size: '10Gi', storageClass: 'gold' })],
    c({ storageClass: 'gold' }),
    ['a Available', 'b Bound c:own ctl'],
    'Bound b 10Gi ctl done',
    [],
  ],
  [
    '13-2 no class',
    [v('a', { storageClass: 'gold' }), v('b', { size: '10Gi' })],
    c(),
    ['a Available', 'b Bound c:own ctl'],
    'Bound b 10Gi ctl done',
    [],
  ],
  [
    '13-3 not another class',
    [v('a', { storageClass: 'silver' }), v('b', { size: '10Gi', storageClass: 'gold' })],
    c({ storageClass: 'gold' }),
    ['a Available', 'b Bound c:own ctl'],
    'Bound b 10Gi ctl done',
    [],
  ],
  [
    '13-4 the empty class',
    [v('a', { storageClass: '' })],
    c({ storageClass: '' }),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  [
    '13-5 the empty class of the volume',
    [v('a', { storageClass: '' })],
    c(),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
  [
    '13-6 the empty class of the claim',
    [v('a')],
    c({ storageClass: '' }),
    ['a Bound c:own ctl'],
    'Bound a 1Gi ctl done',
    [],
  ],
])('%s', async (_, volumes, claim, after, claimAfter, eventTexts) => {
  const uid = claim === undefined ? '' : await createClaim(claim);
  for (const each of volumes) await createVolume(each, uid);
  stopBinder = await cluster.run((config) => new PersistentVolumeBinder(config));
  await cluster.clock.advance('10s');
  const uidName = (of: string | undefined): string =>
    of === undefined ? '-' : of === uid ? 'own' : of;
  const marks = (annotations: Readonly<Record<string, string>> = {}): string =>
    (BOUND_BY_CONTROLLER in annotations ? ' ctl' : '') +
    (BIND_COMPLETED in annotations ? ' done' : '');
  const found = (await cluster.client.resource(persistentVolumes).list()).items.map(
    ({ metadata, spec, status }) => {
      const reference =
        spec.claimRef === undefined
          ? ''
          : ` ${spec.claimRef.name ?? ''}:${uidName(spec.claimRef.uid)}`;
      return `${metadata.name} ${status.phase ?? ''}${reference}${marks(metadata.annotations)}`;
    },
  );
  expect(found).toEqual(after);
  const { items } = await cluster.client.resource(persistentVolumeClaims).list();
  const [text = ''] = items.map(
    ({ metadata, spec, status }) =>
      `${status.phase ?? ''} ${spec.volumeName ?? '-'} ` +
      `${status.capacity?.['storage'] ?? '-'}${marks(metadata.annotations)}`,
  );
  expect(text).toBe(claimAfter);
  expect((await eventsOf(cluster.client)).map(({ type, reason }) => `${type} ${reason}`)).toEqual(
    eventTexts,
  );
});

async function createClaim({ name, size = '1Gi', ...has }: ClaimCase): Promise<string> {
  const client = cluster.client.resource(persistentVolumeClaims).namespace('default');
  const spec = {
    ...(has.volume !== undefined && { volumeName: has.volume }),
    ...(has.storageClass !== undefined && { storageClassName: has.storageClass }),
    ...(has.selector === true && { selector: { matchLabels: LABELS } }),
  };
  const annotations = {
    ...(has.byController === true && { [BOUND_BY_CONTROLLER]: 'yes' }),
    ...(has.completed === true && { [BIND_COMPLETED]: 'yes' }),
  };
  const made = await client.create(newClaim(name, spec, size, { annotations }));
  if (has.phase !== undefined) {
    const capacity = has.phase === 'Bound' ? { storage: size } : undefined;
    await client.updateStatus({
      ...made,
      status: { phase: has.phase, ...(capacity && { capacity }) },
    });
  }
  return made.metadata.uid;
}

async function createVolume({ name, size, ...has }: VolumeCase, claimUid: string): Promise<void> {
  const client = cluster.client.resource(persistentVolumes);
  const uid = has.uid === 'own' ? claimUid : has.uid;
  const spec = {
    ...(has.claim !== undefined && {
      claimRef: { namespace: 'default', name: has.claim, ...(uid !== undefined && { uid }) },
    }),
    ...(has.storageClass !== undefined && { storageClassName: has.storageClass }),
  };
  const annotations = has.byController === true ? { [BOUND_BY_CONTROLLER]: 'yes' } : {};
  const made = await client.create(
    newVolume(name, spec, { annotations, labels: has.labels ?? {} }, size),
  );
  if (has.phase !== undefined) await client.updateStatus({ ...made, status: { phase: has.phase } });
}
