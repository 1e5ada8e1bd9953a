import { describe, expect, test } from 'vitest';
import { makePod } from '../testing/make-pod.ts';
import type { Pod } from '../types.ts';
import { mappingsInMemory } from './mapping-files.ts';
import { type HandlerFeatures, UserNamespaces } from './user-namespaces.ts';

const UNIT = 65_536;
const SUPPORTED: readonly HandlerFeatures[] = [{ name: '', features: { userNamespaces: true } }];

interface Options {
  readonly files?: ReturnType<typeof mappingsInMemory>;
  readonly handlers?: readonly HandlerFeatures[];
  readonly idsPerPod?: number;
  readonly subordinateIds?: () => Promise<{ first: number; length: number } | undefined>;
}

const start = (options: Options = {}): UserNamespaces =>
  new UserNamespaces({
    files: options.files ?? mappingsInMemory(),
    idsPerPod: options.idsPerPod ?? UNIT,
    maxPods: 2,
    handlers: () => Promise.resolve(options.handlers ?? SUPPORTED),
    subordinateIds: options.subordinateIds ?? (() => Promise.resolve(undefined)),
  });

const podWith = (uid: string, hostUsers?: boolean): Pod =>
  makePod({ metadata: { uid }, spec: hostUsers === undefined ? {} : { hostUsers } });

describe('a pod', () => {
  test.each([undefined, true])('with hostUsers %s has those of the node', async (hostUsers) => {
    const options = await start({ handlers: [] }).optionsFor(podWith('a', hostUsers), '');
    expect(options).toEqual({ mode: 'NODE' });
  });

  test('has the same range at each call, another pod has another', async () => {
    const files = mappingsInMemory();
    const namespaces = start({ files });
    const range = [{ hostId: UNIT, containerId: 0, length: UNIT }];
    const expected = { mode: 'POD', uids: range, gids: range };
    expect(await namespaces.optionsFor(podWith('a', false), '')).toEqual(expected);
    expect(await namespaces.optionsFor(podWith('a', false), '')).toEqual(expected);
    const other = await namespaces.optionsFor(podWith('b', false), '');
    expect(other.uids).toEqual([{ hostId: 2 * UNIT, containerId: 0, length: UNIT }]);
    expect(JSON.parse((await files.read('b')) ?? '')).toEqual({
      uidMappings: other.uids,
      gidMappings: other.gids,
    });
  });

  test('has as many IDs as are configured', async () => {
    const { uids } = await start({ idsPerPod: 3 * UNIT }).optionsFor(podWith('a', false), '');
    expect(uids).toEqual([{ hostId: 3 * UNIT, containerId: 0, length: 3 * UNIT }]);
  });
});

describe('without the feature', () => {
  test.each([
    [[], '', "can't set `spec.hostUsers: false`, runtime does not support user namespaces"],
    [
      [{ name: '', features: { userNamespaces: false } }],
      '',
      "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    ],
    [
      [{ name: 'kata' }],
      'kata',
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user namespaces',
    ],
    [
      SUPPORTED,
      'kata',
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user ' +
        'namespaces: the handler "kata" is not known',
    ],
    [
      [],
      'kata',
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user namespaces',
    ],
  ])('of %j, handler %j', async (handlers, handler, message) => {
    await expect(start({ handlers }).optionsFor(podWith('a', false), handler)).rejects.toThrow(
      new Error(message),
    );
  });
});

describe('another run', () => {
  test('keeps the ranges of pods until they are released', async () => {
    const files = mappingsInMemory();
    const before = await start({ files }).optionsFor(podWith('a', false), '');
    const available = { first: UNIT, length: 2 * UNIT };
    const later = start({ files, subordinateIds: () => Promise.resolve(available) });
    await later.reconstruct(['a', 'without-file']);
    const other = await later.optionsFor(podWith('b', false), '');
    expect(other.uids?.[0]?.hostId).toBe(2 * UNIT);
    await expect(later.optionsFor(podWith('c', false), '')).rejects.toThrow(
      'create user namespace: could not find an empty slot to allocate a user namespace',
    );
    expect(await later.optionsFor(podWith('a', false), '')).toEqual(before);
    await later.release('a');
    expect(await files.read('a')).toBeUndefined();
    expect((await later.optionsFor(podWith('c', false), '')).uids?.[0]?.hostId).toBe(UNIT);
  });

  test('releases the ranges of unknown pods', async () => {
    const files = mappingsInMemory();
    const namespaces = start({ files });
    await namespaces.optionsFor(podWith('a', false), '');
    await namespaces.optionsFor(podWith('b', false), '');
    await namespaces.releaseOrphans((uid) => uid === 'a');
    expect(await files.read('a')).toBeDefined();
    expect(await files.read('b')).toBeUndefined();
  });

  test('does not start with a corrupt file', async () => {
    const files = mappingsInMemory();
    await files.write('a', '{"uidMappings":');
    await expect(start({ files }).reconstruct(['a'])).rejects.toThrow(
      'record pod mappings for existing pod "a": invalid user namespace mappings file: ',
    );
  });

  test('does not start with ranges of another length', async () => {
    const files = mappingsInMemory();
    await start({ files }).optionsFor(podWith('a', false), '');
    await expect(start({ files, idsPerPod: 2 * UNIT }).reconstruct(['a'])).rejects.toThrow(
      'record pod mappings for existing pod "a": wrong user namespace length 65536',
    );
  });
});

test('a failed write gives the range back', async () => {
  const files = mappingsInMemory();
  const full = { ...files, write: () => Promise.reject(new Error('ENOSPC: no space left')) };
  const available = { first: UNIT, length: 2 * UNIT };
  const namespaces = start({
    files: full,
    subordinateIds: () => Promise.resolve(available),
  });
  for (const uid of ['a', 'b', 'c'])
    await expect(namespaces.optionsFor(podWith(uid, false), '')).rejects.toThrow(
      'create user namespace: ENOSPC: no space left',
    );
});

test('the machine is asked again after an error', async () => {
  let calls = 0;
  const namespaces = start({
    subordinateIds: () => {
      calls++;
      return calls === 1
        ? Promise.reject(new Error('mismatched subuids'))
        : Promise.resolve({ first: UNIT, length: 4 * UNIT });
    },
  });
  await expect(namespaces.optionsFor(podWith('a', false), '')).rejects.toThrow(
    'kubelet mappings: mismatched subuids',
  );
  expect((await namespaces.optionsFor(podWith('a', false), '')).mode).toBe('POD');
});
