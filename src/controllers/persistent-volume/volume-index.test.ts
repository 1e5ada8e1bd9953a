import { describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { SeededRandom } from '#machinery/random.ts';
import { newClaim, newVolume } from './testing/objects.ts';
import { isFree, VolumeIndex } from './volume-index.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

const identity = { uid: '', resourceVersion: '1', creationTimestamp: '' };

function volume(name: string, spec: object = {}, size = '1Gi', metadata: object = {}): ReadVolume {
  const made = newVolume(name, spec, metadata, size);
  return {
    ...made,
    metadata: { ...identity, ...made.metadata },
    status: { phase: 'Available' },
  } as ReadVolume;
}
function claim(spec: object = {}, size = '1Gi'): ReadClaim {
  const made = newClaim('c', spec, size);
  return {
    ...made,
    metadata: { ...identity, ...made.metadata, uid: 'c-uid' },
    status: { phase: 'Pending' },
  } as ReadClaim;
}
function indexOf(...volumes: readonly ReadVolume[]): VolumeIndex {
  const index = new VolumeIndex();
  for (const each of volumes) index.replace(undefined, each);
  return index;
}
const named = (found: ReadVolume | undefined) => found?.metadata.name;

describe('the volume for a claim', () => {
  const referring = { claimRef: { namespace: 'default', name: 'c' } };

  test.each<[what: string, volumes: ReadVolume[], claim: ReadClaim, expected: string | undefined]>([
    [
      'is the smallest that fits',
      [volume('l', {}, '5Gi'), volume('m', {}, '2Gi'), volume('s')],
      claim({}, '1500Mi'),
      'm',
    ],
    ['of equals is the first by name', [volume('b'), volume('a')], claim(), 'a'],
    ['is not too small', [volume('s')], claim({}, '2Gi'), undefined],
    [
      'has its class',
      [volume('a'), volume('b', { storageClassName: 'x' })],
      claim({ storageClassName: 'x' }),
      'b',
    ],
    [
      'has no class for a claim of none',
      [volume('b', { storageClassName: 'x' })],
      claim({ storageClassName: '' }),
      undefined,
    ],
    ['has its mode', [volume('a', { volumeMode: 'Block' })], claim(), undefined],
    ['has its access modes', [volume('a')], claim({ accessModes: ['ReadWriteMany'] }), undefined],
    [
      'has few access modes beyond',
      [volume('a', { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }), volume('b', {}, '9Gi')],
      claim(),
      'b',
    ],
    [
      'has its labels',
      [volume('a'), volume('b', {}, '2Gi', { labels: { t: 'x' } })],
      claim({ selector: { matchLabels: { t: 'x' } } }),
      'b',
    ],
    [
      'has its attributes class',
      [volume('a')],
      claim({ volumeAttributesClassName: 'fast' }),
      undefined,
    ],
    [
      'is one that refers to it, of whatever class',
      [volume('a'), volume('z', { ...referring, storageClassName: 'x' }, '9Gi')],
      claim(),
      'z',
    ],
    [
      'is not one that refers to it and is too small',
      [volume('z', referring)],
      claim({}, '2Gi'),
      undefined,
    ],
    [
      'is not one that refers to another',
      [volume('z', { claimRef: { ...referring.claimRef, uid: 'other' } })],
      claim(),
      undefined,
    ],
    [
      'is not one that goes',
      [volume('a', {}, '1Gi', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
      claim(),
      undefined,
    ],
    [
      'is not one that is released',
      [{ ...volume('a'), status: { phase: 'Released' } }],
      claim(),
      undefined,
    ],
  ])('%s', (_, volumes, wanted, expected) => {
    expect(named(indexOf(...volumes).find(wanted, false))).toBe(expected);
  });

  test('is not chosen by the binder if the scheduler chooses, unless it refers to the claim', () => {
    expect(indexOf(volume('a')).find(claim(), true)).toBeUndefined();
    expect(named(indexOf(volume('a', referring)).find(claim(), true))).toBe('a');
  });

  test('is not offered to another claim while it is reserved', () => {
    const index = indexOf(volume('a'), volume('b', {}, '2Gi'));
    const release = index.reserve('a');
    expect(named(index.find(claim(), false))).toBe('b');
    release();
    expect(named(index.find(claim(), false))).toBe('a');
  });
});

test('the index returns the same as a scan of all volumes, under random changes', () => {
  const random = new SeededRandom(7);
  const pick = <T>(values: readonly T[]): T => values[random.int(values.length)]!;
  const sizes = ['1Gi', '1024Mi', '2Gi', '3Gi', '1500Mi'];
  const modes = [['ReadWriteOnce'], ['ReadWriteOnce', 'ReadOnlyMany'], ['ReadOnlyMany']];
  const any = (name: string): ReadVolume => {
    const spec = {
      accessModes: pick(modes),
      storageClassName: pick([undefined, 'x']),
      volumeMode: pick([undefined, 'Block']),
      ...(random.int(4) === 0 && { claimRef: { namespace: 'default', name: 'other', uid: 'u' } }),
    };
    return {
      ...volume(name, spec, pick(sizes)),
      status: { phase: pick(['Available', 'Available', 'Bound']) },
    };
  };
  const index = new VolumeIndex();
  const all = new Map<string, ReadVolume>();
  for (let step = 0; step < 2000; step++) {
    const name = `v${random.int(30)}`;
    const before = all.get(name);
    const after = random.int(3) === 0 ? undefined : any(name);
    index.replace(before, after);
    if (after === undefined) all.delete(name);
    else all.set(name, after);
    const spec = {
      accessModes: pick(modes),
      storageClassName: pick([undefined, 'x']),
      volumeMode: pick([undefined, 'Block']),
    };
    const wanted = claim(spec, pick(sizes));
    expect(named(index.find(wanted, false)), `step ${step}`).toBe(
      named(byLookingAtAll([...all.values()], wanted)),
    );
    const free = [...all.values()].filter(
      (each) => isFree(each) && each.spec.storageClassName === 'x',
    );
    expect(index.free('x')).toBe(free.length);
  }
});

function byLookingAtAll(volumes: readonly ReadVolume[], wanted: ReadClaim): ReadVolume | undefined {
  const size = parseQuantity(wanted.spec.resources.requests?.['storage'] ?? '');
  const sizeOf = (each: ReadVolume) => parseQuantity(each.spec.capacity?.['storage'] ?? '');
  const [best] = volumes
    .filter((each) => isFree(each) && each.spec.storageClassName === wanted.spec.storageClassName)
    .filter(
      (each) => each.spec.volumeMode === wanted.spec.volumeMode && sizeOf(each).cmp(size) >= 0,
    )
    .filter((each) =>
      (wanted.spec.accessModes ?? []).every((mode) => each.spec.accessModes?.includes(mode)),
    )
    .sort((a, b) => {
      const beyond = (a.spec.accessModes?.length ?? 0) - (b.spec.accessModes?.length ?? 0);
      return beyond || sizeOf(a).cmp(sizeOf(b)) || (a.metadata.name < b.metadata.name ? -1 : 1);
    });
  return best;
}
